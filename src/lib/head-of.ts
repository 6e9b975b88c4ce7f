/** The head of a text that is too long, with a mark; the text where it is not. `most` is in characters. */
export function headOf(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)} [${text.length - most} characters are left out]`
}
