/** The index of the first non-empty line from `from` on; the number of lines if there is none. */
export function indexOfFilled(lines: readonly string[], from: number): number {
  let at = from
  while (at < lines.length && !lines[at]?.trim()) at++
  return at
}

/** Whether a line is only a separator: underscores, dashes, equals signs. */
export function isRule(line: string | undefined): boolean {
  return line !== undefined && /^\s*(?:_{5,}|-{5,}|={3,}|~{5,}|\*{5,}|[—―─]{3,})\s*$/.test(line)
}
