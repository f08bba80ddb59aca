// What is known about the visitor of the open conversation, as lines. Pure.
import { inEnglish } from '../../../desk/english.ts';
import type { VerifiedField, Visitor } from '../../../protocol/entities.ts';
import { canManage, visitorName } from '../../../desk/conversation-commands.ts';
import { sanitizeLine } from '../text/sanitize-line.ts';
import type { DeskState } from '../../../desk/desk-state.ts';
import { longDuration, shortTimestamp } from '../../../desk/time.ts';
import type { Line, Span } from '../text/types.ts';
import { wrap } from '../text/wrap.ts';
import { openItem } from './conversation-lines.ts';
import { blankLine, justify } from './line-layout.ts';

const attributesMost = 20;

function field(
  name: string,
  value: string,
  columns: number,
  style: Omit<Span, 'text'> = {},
): readonly Line[] {
  if (value === '') return [];
  const label = `${name}  `;
  const room = columns - label.length;
  if (room < 12)
    return [
      [{ text: name, dim: true }],
      ...wrap([{ text: value, ...style }], Math.max(4, columns - 2)).map((line): Line => [
        { text: '  ' },
        ...line,
      ]),
    ];
  return wrap([{ text: value, ...style }], room).map((line, index): Line => [
    { text: index === 0 ? label : ' '.repeat(label.length), dim: true },
    ...line,
  ]);
}

/** From which field `visitorName` takes the name that it shows. */
function nameSource({ name, email }: Visitor): VerifiedField {
  if (sanitizeLine(name ?? '') !== '') return 'name';
  return sanitizeLine(email ?? '') === '' ? 'id' : 'email';
}

/** The mark has a column of its own, which no text of the visitor's can reach. */
function markedLines(span: Span, verified: boolean, columns: number): Line[] {
  const room = Math.max(4, columns - 2);
  return wrap([span], room).map((line, index): Line => [
    index === 0 && verified ? { text: '✓ ', color: 'green' } : { text: '  ' },
    ...line,
  ]);
}

function heading(text: string): Line {
  return [{ text, bold: true }];
}

/** @returns as many lines as there is to say, each at most `columns` wide */
export function visitorLines(state: DeskState, columns: number): readonly Line[] {
  const item = openItem(state);
  const { open, now } = state;
  if (item === undefined || open === null) return [[{ text: 'No conversation is open.', dim: true }]];
  const { visitor } = item;
  const verified = new Set(visitor.verifiedFields);
  const lines: Line[] = [
    ...markedLines(
      { text: sanitizeLine(visitorName(item, inEnglish)), bold: true, color: 'cyan' },
      verified.has(nameSource(visitor)),
      columns,
    ),
  ];
  const email = sanitizeLine(visitor.email ?? '');
  if (email !== '') lines.push(...markedLines({ text: email }, verified.has('email'), columns));
  lines.push(
    verified.has('id')
      ? [{ text: '✓ identity verified', color: 'green' }]
      : [{ text: 'identity not verified', dim: true }],
    blankLine,
  );
  lines.push(...field('from', sanitizeLine(item.application.name), columns));
  if (item.channel === 'email') lines.push(...field('by', 'e-mail', columns));
  if (item.continues !== undefined) lines.push(...wrap([{ text: inEnglish('continuesEarlier') }], columns));
  if (item.mode === 'test') lines.push(...field('mode', 'test', columns, { color: 'magenta' }));
  lines.push(...field('since', shortTimestamp(visitor.createdAt, now), columns));
  lines.push(...field('opened', shortTimestamp(item.createdAt, now), columns));
  if (item.waitingSince !== null && item.status !== 'closed')
    lines.push(
      ...field('waits', longDuration(now - Date.parse(item.waitingSince)), columns, { color: 'yellow' }),
    );
  if (item.assignedToName !== null)
    lines.push(
      ...field(
        'with',
        item.assignedTo === state.session?.member.id ? 'you' : sanitizeLine(item.assignedToName),
        columns,
      ),
    );
  if (item.subject !== undefined) lines.push(...field('subject', sanitizeLine(item.subject), columns));
  const attributes = Object.entries(visitor.attributes).slice(0, attributesMost);
  if (attributes.length > 0) {
    lines.push(
      blankLine,
      heading(verified.has('attributes') ? 'Attributes, verified' : 'Attributes, not verified'),
    );
    for (const [name, value] of attributes)
      lines.push(...field(sanitizeLine(name), sanitizeLine(String(value)), columns));
  }
  const { earlier } = open;
  if (earlier !== null && earlier.length > 0) {
    lines.push(blankLine, heading('Earlier conversations'));
    for (const one of earlier) {
      const text = sanitizeLine(one.subject ?? one.lastMessage?.preview ?? '') || 'without words';
      lines.push(
        justify(
          [{ text: one.status === 'closed' ? '✓ ' : '● ', dim: one.status === 'closed' }, { text }],
          [{ text: shortTimestamp(one.updatedAt, now), dim: true }],
          columns,
        ),
      );
    }
  }
  const others = (open.detail?.participants ?? []).filter(({ role }) => role === 'operator');
  if (others.length > 0) {
    lines.push(blankLine, heading('Here'));
    for (const { userId } of others) {
      const colleague = state.colleagues?.find(({ id }) => id === userId);
      const isSelf = userId === state.session?.member.id;
      const name = isSelf ? 'You' : sanitizeLine(colleague?.name ?? '') || 'A colleague';
      lines.push(
        justify(
          [{ text: isSelf || colleague?.online === true ? '● ' : '○ ', color: 'green' }, { text: name }],
          [{ text: isSelf || colleague?.online === true ? 'online' : 'offline', dim: true }],
          columns,
        ),
      );
    }
  }
  if (
    item.status !== 'pending' &&
    !canManage(item, state.session?.member.id ?? '', state.session?.member.role === 'admin') &&
    item.status === 'active'
  )
    lines.push(blankLine, ...wrap([{ text: 'You may read along and add notes.', dim: true }], columns));
  return lines;
}
