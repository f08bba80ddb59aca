// The staff client keeps the console's contract, and so does the fake one that the console's tests use.
import { createStaffClient } from '../../src/sdk/staff.ts';
import { startApp } from '../helpers/app.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
} from '../helpers/fixtures.ts';
import { FakeStaff, ann, buildConversation, buildMessage, me, mine } from '../desk/fake-staff.ts';
import { declareStaffContract, type StaffSource } from './staff-contract.ts';

async function startServer(): Promise<StaffSource> {
  const app = await startApp({ realTime: true });
  const acme = await createOrganization(app, 'acme');
  const colleague = await createMember(app, 'acme', 'operator', 'Ann');
  const visitors = new Map<string, ReturnType<typeof createVisitor>>();
  return {
    open: async () => {
      const member = await createMember(app, 'acme', 'operator', 'Me');
      const client = createStaffClient({ baseUrl: app.url });
      return {
        client,
        token: member.token,
        memberId: member.id,
        colleagueId: colleague.id,
        ask: async (...texts) => {
          const visitor = createVisitor(app, acme.application);
          const id = await createConversation(visitor);
          visitors.set(id, visitor);
          for (const text of texts) await createMessage(visitor, id, text);
          return id;
        },
        write: async (id, text) => {
          const visitor = visitors.get(id);
          if (visitor === undefined) throw new Error(`No visitor of this test opened ${id}.`);
          await createMessage(visitor, id, text);
        },
        colleagueAccepts: async (id) => {
          await colleague.call('POST', `/conversations/${id}/accept`);
        },
        close: () => client.stop(),
      };
    },
    close: () => app.stop(),
  };
}

async function startFake(): Promise<StaffSource> {
  let count = 0;
  return {
    open: async () => {
      const staff = new FakeStaff([]);
      const write = (id: string, text: string): void => {
        const item = staff.items.find((one) => one.id === id);
        if (item !== undefined) staff.hear(buildMessage(item, text));
      };
      return {
        client: staff.client,
        token: 'token',
        memberId: me,
        colleagueId: ann,
        ask: async (...texts) => {
          count += 1;
          // The later a conversation begins, the smaller its number.
          const item = buildConversation(1_000 - count, { lastMessage: null });
          staff.arrive(item);
          for (const text of texts) write(item.id, text);
          return item.id;
        },
        write: async (id, text) => write(id, text),
        colleagueAccepts: async (id) => staff.change(id, mine({ assignedTo: ann, assignedToName: 'Ann' })),
        close: () => staff.client.stop(),
      };
    },
    close: async () => undefined,
  };
}

declareStaffContract('the staff client on a server', startServer);
declareStaffContract('the fake staff client', startFake);
