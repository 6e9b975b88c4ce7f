import { counted } from './counted.ts'

/**
 * What the errors of a skill leave out, of `skill-usage`: failed runs that are only counted, and
 * those with rarer errors.
 */
export function errorNotes(usage: { failed?: unknown; errorsOf?: unknown; moreErrors?: unknown }): string[] {
  const failed = Number(usage.failed ?? 0)
  const known = Number(usage.errorsOf ?? 0)
  const more = Number(usage.moreErrors ?? 0)
  const isPart = usage.errorsOf !== undefined && known < failed
  return [
    ...(isPart
      ? [
          `The errors are those of the newest ${counted(known, 'failed run')}; the other ${(failed - known).toLocaleString('en')} are only counted.`,
        ]
      : []),
    ...(more > 0 ? [`${counted(more, 'failed run')} had other errors, which are rarer.`] : []),
  ]
}
