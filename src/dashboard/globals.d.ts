// Owns what the build puts into the parts that are loaded later: style sheets as text.
declare module '*.css' {
  const text: string;
  export { text as default };
}
