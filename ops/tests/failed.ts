/** A failure: of a test file, or of a check of the tree. */
export type Failed = {
  name: string
  /** Each failure as text. */
  failures: string[]
  /** What the file printed. */
  output: string
}

/** Maximum characters of a repeated failure, and of the output of a file. */
const FAILURE_CHARS = 3000
const OUTPUT_CHARS = 1500
/** Maximum characters of all repeated failures: a CI service may show only the end of its log. */
const ALL_CHARS = 12_000
/** Minimum characters that are shown of each failure. */
const MIN_CHARS = 300

/**
 * Repeats all failures for readers who see only the end of a log. The last line has the names,
 * after `title`. Empty if nothing failed.
 */
export function repeatFailures(failed: Failed[], title = 'Failed'): string {
  if (failed.length === 0) return ''
  const texts = failed.reduce((sum, { failures }) => sum + failures.length + 1, 0)
  const share = Math.max(MIN_CHARS, Math.floor(ALL_CHARS / texts))
  const parts = failed.flatMap(({ name, failures, output }) => [
    `── ${name}`,
    ...(output.trim() ? [ending(output, Math.min(share, OUTPUT_CHARS))] : []),
    ...failures.map((text) => beginning(text, Math.min(share, FAILURE_CHARS))),
  ])
  return `What failed, again:\n\n${parts.join('\n\n')}\n\n${title}: ${failed.map(({ name }) => name).join(', ')}`
}

function beginning(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}\n… (${text.length - max} more characters)`
}

/** The last lines that fit. */
function ending(output: string, max: number): string {
  const text = output.trim()
  return text.length <= max ? text : `… ${text.slice(-max).replace(/^[^\n]*\n/, '')}`
}
