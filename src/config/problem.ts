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

/** The problems as people read them: place and message first, the source line under it. */
export function formatProblems(problems: readonly Problem[]): string {
  const shown = problems.slice(0, MAX_PROBLEMS).map(({ file, line, column, message, excerpt, severity }) => {
    const place = line === undefined ? file : `${file}:${line}:${column}`
    const kind = severity === 'warning' ? 'warning: ' : ''
    return `${place}  ${kind}${message}${excerpt === undefined ? '' : `\n${excerpt}`}`
  })
  const more = problems.length - shown.length
  return [...shown, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n')
}

/** Throws `config_invalid` with all errors at once, where there are any. Warnings do not count. */
export function throwErrors(problems: readonly Problem[]): void {
  const errors = problems.filter((problem) => problem.severity === 'error')
  if (errors.length > 0) throw new TriviumError('config_invalid', { details: formatProblems(errors) })
}
