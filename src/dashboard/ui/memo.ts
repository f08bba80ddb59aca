// Owns keeping a part as it is while what it is drawn from stays the same.
import { Component, type ComponentChild } from 'preact';

function differ(one: object, other: object): boolean {
  const before = new Map<string, unknown>(Object.entries(one));
  const after = Object.entries(other);
  return before.size !== after.length || after.some(([name, value]) => !Object.is(before.get(name), value));
}

/** The part, drawn again only when one of its properties is another one. Signals that it reads still draw it anew. */
export function memo<P extends object>(draw: (props: P) => ComponentChild): new (props: P) => Component<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      return differ(this.props, next);
    }

    override render(props: P): ComponentChild {
      return draw(props);
    }
  };
}
