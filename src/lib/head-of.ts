/** A text cut to `most` characters, with a mark if it was longer. */
export function headOf(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)} [${text.length - most} characters omitted]`
}
