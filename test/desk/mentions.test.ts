// Naming colleagues in a note: who is offered, what is put in, and what the desk tells the service and the member of it.
import { describe, expect, test } from 'vitest';
import { buildConversation, me } from './fake-staff.ts';
import { createModelFixture } from './model-fixture.ts';

const colleague = (id: string, name: string) => ({
  id,
  name,
  role: 'operator' as const,
  online: true,
  disabled: false,
});

describe('a name in a note', () => {
  test('is offered behind an @, chosen by keys, and put in with a blank', async () => {
    const fixture = await createModelFixture([buildConversation(1, { status: 'active', assignedTo: me })]);
    await fixture.press('2', 'enter');
    fixture.model.store.set({
      colleagues: [colleague('a', 'Ann Berg'), colleague('b', 'Annabel'), colleague('c', 'Bob')],
    });
    const { composer } = fixture.model;
    composer.setNote(true);
    composer.setText('ask @an please', 7);
    expect(composer.run('lineDown')).toBe(true);
    expect(composer.run('send')).toBe(true);
    expect(fixture.state().composer?.buffer).toMatchObject({ text: 'ask @Annabel  please', caret: 13 });
    // Whole by now: the key sends.
    composer.setText('@bob', 4);
    expect(composer.suggestions.run('send')).toBe(false);
    // Put away by Esc, back with the next letter.
    composer.setText('@a', 2);
    expect(composer.run('back')).toBe(true);
    expect(composer.suggestions.run('lineDown')).toBe(false);
    composer.setText('', 0);
    composer.setNote(false);
    composer.setText('@an', 3);
    expect(composer.suggestions.run('send')).toBe(false);
  });
});

describe('what the service tells', () => {
  test('rings for a mention, and is cleared; what is before the eyes is said', async () => {
    const fixture = await createModelFixture([buildConversation(1, { status: 'active', assignedTo: me })]);
    const { id } = buildConversation(1);
    fixture.notifications.length = 0;
    fixture.staff.emit('notification:new', {
      event: 'mention',
      conversationId: id,
      messageId: 'm',
      name: 'Ann',
      minutes: null,
    });
    fixture.staff.emit('notification:new', {
      event: 'waiting',
      conversationId: 'other',
      messageId: null,
      name: null,
      minutes: 5,
    });
    fixture.staff.emit('notification:new', {
      event: 'test',
      conversationId: null,
      messageId: null,
      name: null,
      minutes: null,
    });
    await fixture.settle();
    expect(fixture.notifications.filter((line) => line.startsWith('notify'))).toEqual([
      'notify Ann mentioned you in a note|Visitor 1',
      'notify No one has accepted a visitor within 5 min|the visitor',
      'notify Notifications work|',
    ]);
    fixture.staff.emit('notification:cleared', { conversationId: id });
    await fixture.press('2', 'enter');
    await fixture.settle();
    expect(fixture.staff.focused.at(-1)).toBe(id);
    fixture.model.setFocused(false);
    await fixture.settle();
    fixture.model.setFocused(true);
    await fixture.settle();
    expect(fixture.staff.focused.slice(-3)).toEqual([id, null, id]);
  });

  test('a bell that the member does not want stays silent', async () => {
    const fixture = await createModelFixture([buildConversation(1, { status: 'active', assignedTo: me })]);
    fixture.staff.answers.set('GET /notifications', () => ({
      notifications: { events: { new: { bell: false }, reply: { bell: true } } },
    }));
    fixture.staff.arrive(buildConversation(7));
    await fixture.settle();
    fixture.notifications.length = 0;
    fixture.staff.arrive(buildConversation(8));
    await fixture.settle();
    expect(fixture.notifications.filter((line) => line.startsWith('notify'))).toEqual([]);
  });
});
