/**
 * Escapes control characters, such as `\u001b`, as JSON does, so that text from strangers cannot
 * control a terminal. Tabs and line ends stay. Also escapes bidirectional embeddings, overrides and
 * isolates: a file `a\u202etxt.exe` would look like `aexe.txt` (Unicode Technical Report 36, 3.4;
 * https://trojansource.codes). Directional marks, which Arabic and Hebrew text uses, stay.
 */
export function escapeControls(text: string): string {
  return escapeUnicode(text, /(?!\r?\n|\t)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu)
}

/** Escapes each character that a pattern matches. */
export function escapeUnicode(text: string, pattern: RegExp): string {
  return text.replaceAll(pattern, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
