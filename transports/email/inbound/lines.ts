/** The first line from `from` on that is not empty; the number of lines where there is none. */
export function indexOfFilled(lines: readonly string[], from: number): number {
  let at = from
  while (at < lines.length && !lines[at]?.trim()) at++
  return at
}

/** A line that only separates: underscores, dashes, equals signs. */
export function isRule(line: string | undefined): boolean {
  return line !== undefined && /^\s*(?:_{5,}|-{5,}|={3,}|~{5,}|\*{5,}|[—―─]{3,})\s*$/.test(line)
}
