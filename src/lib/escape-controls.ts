/** Writes control characters but tabs and line ends as `\u001b`, the same to JSON: what strangers wrote steers no terminal. */
export function escapeControls(text: string): string {
  return escapeUnicode(text, /(?!\r?\n|\t)\p{Cc}/gu)
}

/** Writes the characters that a pattern finds, one each time, by their number. */
export function escapeUnicode(text: string, pattern: RegExp): string {
  return text.replaceAll(pattern, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
