/**
 * Writes control characters but tabs and ends of lines as `\u001b`, which is the same to a reader of JSON: what strangers wrote
 * can not steer the terminal that shows it.
 */
export function escapeControls(text: string): string {
  return text.replaceAll(/(?!\r?\n|\t)\p{Cc}/gu, (char) => {
    const code = char.charCodeAt(0).toString(16)
    return `\\u${code.padStart(4, '0')}`
  })
}
