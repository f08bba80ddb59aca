// Owns what the build puts into the widget's bundles: style sheets as text, and the names of the hashed files.
declare module '*.css' {
  const text: string;
  export { text as default };
}
declare const PANEL_FILE: string;
declare const CONVERSATION_FILE: string;
declare const TRAY_FILE: string;
