import { closest, distance } from 'fastest-levenshtein'
import { TriviumError } from '../core/errors.ts'

/** One thing wrong in the configuration. `line` and `column` count from 1; absent for the environment. */
export type Problem = {
  severity: 'error' | 'warning'
  /** As shown to people: relative to the working directory, or `environment`. */
  file: string
  line?: number
  column?: number
  message: string
  /** The source line with a caret under the place. */
  excerpt?: string
}

const MAX_PROBLEMS = 20
const MAX_LISTED = 12

/** The problems as people read them: place and message first, the source line under it. */
export function formatProblems(problems: readonly Problem[]): string {
  const shown = problems.slice(0, MAX_PROBLEMS).map(formatProblem)
  const more = problems.length - shown.length
  return [...shown, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n')
}

/** Throws `config_invalid` with all errors at once, where there are any. Warnings do not count. */
export function throwErrors(problems: readonly Problem[]): void {
  const errors = problems.filter((problem) => problem.severity === 'error')
  if (errors.length > 0) throw new TriviumError('config_invalid', { details: formatProblems(errors) })
}

/** `; did you mean "match"?`, where one of the names is near enough; else what names there are, if few. */
export function hint(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  if (near !== undefined) return `; did you mean "${near}"?`
  return known.length > 0 && known.length <= MAX_LISTED ? `; known: ${known.join(', ')}` : ''
}

/** A name in quotes, cut to what fits a line. */
export function quote(name: string): string {
  return `"${name.length > 60 ? `${name.slice(0, 59)}…` : name}"`
}

function nearest(name: string, known: readonly string[]): string | undefined {
  if (known.length === 0 || name.length > 100) return undefined
  const folded = name.toLowerCase()
  const found = closest(folded, [...known])
  return distance(folded, found.toLowerCase()) <= Math.max(1, Math.ceil(name.length / 3)) ? found : undefined
}

function formatProblem({ file, line, column, message, excerpt, severity }: Problem): string {
  const place = line === undefined ? file : `${file}:${line}:${column}`
  const kind = severity === 'warning' ? 'warning: ' : ''
  return `${place}  ${kind}${message}${excerpt === undefined ? '' : `\n${excerpt}`}`
}
