// Styled lines on the screen: the only place where spans become Ink's text. Must not
// measure or cut: lines come as wide as they may be.
import { Box, Text } from 'ink';
import { memo, type ReactElement } from 'react';
import type { Line, Span } from '../text/types.ts';

/** Gray is bright black, which some light themes make invisible: dim says the same everywhere. */
function Piece({ span }: { readonly span: Span }): ReactElement {
  const {
    text,
    bold = false,
    italic = false,
    underline = false,
    strike = false,
    inverse = false,
    dim = false,
    color,
  } = span;
  const isGray = color === 'gray';
  return (
    <Text
      bold={bold}
      italic={italic}
      underline={underline}
      strikethrough={strike}
      inverse={inverse}
      dimColor={dim || isGray}
      {...(color === undefined || isGray ? {} : { color })}
    >
      {text}
    </Text>
  );
}

function isPlain({ bold, italic, underline, strike, inverse, dim, color }: Span): boolean {
  return (
    bold !== true &&
    italic !== true &&
    underline !== true &&
    strike !== true &&
    inverse !== true &&
    dim !== true &&
    color === undefined
  );
}

/** Without the blanks at its end: Ink's time goes with the characters, and its cells are blank anyway. */
function withoutEnd(line: Line): Line {
  let last = line.length - 1;
  while (last >= 0) {
    const span = line[last];
    if (span === undefined || !isPlain(span)) break;
    const text = span.text.trimEnd();
    if (text !== '')
      return text.length === span.text.length ? line.slice(0, last + 1) : [...line.slice(0, last), { text }];
    last -= 1;
  }
  return line.slice(0, last + 1);
}

interface RowProps {
  readonly line: Line;
  /** Covers what is below it, to its end. */
  readonly solid: boolean;
}

/** One line. The same object is not drawn again. */
const Row = memo(function Row({ line, solid }: RowProps): ReactElement {
  const spans = solid ? line : withoutEnd(line);
  // A blank keeps the row's height.
  if (spans.length === 0) return <Text> </Text>;
  return (
    <Text wrap="truncate">
      {spans.map((span, index) => (isPlain(span) ? span.text : <Piece key={index} span={span} />))}
    </Text>
  );
});

interface RowsProps {
  readonly lines: readonly Line[];
  readonly columns: number;
  readonly solid?: boolean;
}

/** Lines below each other in a box of so many columns. */
export const Rows = memo(
  function Rows({ lines, columns, solid = false }: RowsProps): ReactElement {
    return (
      <Box flexDirection="column" width={columns} height={lines.length} flexShrink={0}>
        {lines.map((line, index) => (
          <Row key={index} line={line} solid={solid} />
        ))}
      </Box>
    );
  },
  (before, after) =>
    before.columns === after.columns &&
    before.lines.length === after.lines.length &&
    before.lines.every((line, index) => line === after.lines[index]),
);
