/**
 * Writes control characters except tabs and line ends as `\u001b`, which means the same in JSON, so that text from strangers
 * cannot steer a terminal. Also the characters that reverse what follows them: a file `a\u202etxt.exe` would look like `aexe.txt`
 * (Unicode Technical Report 36, 3.4; https://trojansource.codes).
 */
export function escapeControls(text: string): string {
  return escapeUnicode(text, /(?!\r?\n|\t)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu)
}

/** Writes the characters that a pattern finds, one each time, by their number. */
export function escapeUnicode(text: string, pattern: RegExp): string {
  return text.replaceAll(pattern, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
