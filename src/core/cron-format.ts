import { TriviumError } from './errors.ts'

/**
 * Throws `usage` for a cron expression that is copied from another system and would mean something
 * else here: in Quartz and Amazon EventBridge, day 1 is Sunday, and EventBridge has a year instead
 * of seconds. Their expressions have a `?`, which ordinary cron does not need.
 */
export function requireOwnFormat(expression: string): void {
  for (const one of expression.split(' | ')) {
    const why = whyAmbiguous(one.trim().split(/\s+/))
    if (why) throw new TriviumError('usage', { details: `The schedule "${one.trim()}" is ambiguous: ${why}` })
  }
}

/** `fields`: those of one cron expression. Undefined if it is unambiguous. */
function whyAmbiguous(fields: readonly string[]): string | undefined {
  const questionMarks = fields.flatMap((field, index) => (field.includes('?') ? [index] : []))
  if (questionMarks.length === 0) return undefined
  // The positions of day of month and day of week. With more than five fields, the first one is the
  // seconds.
  const dayOfMonth = fields.length > 5 ? 3 : 2
  const dayOfWeek = dayOfMonth + 2
  if (questionMarks.some((index) => index !== dayOfMonth && index !== dayOfWeek)) {
    const own = fields.slice(0, 5).join(' ').replaceAll('?', '*')
    const shorter = fields.length === 6 ? ` Without the year of Amazon EventBridge it is "${own}".` : ''
    return `\`?\` can only be the day of the month or of the week, and an expression of six fields begins with seconds.${shorter} Write days as names, such as MON.`
  }
  // The numbers of `#2` (the second one of a month) and `/2` (every second one) are not days.
  const days = (fields[dayOfWeek] ?? '').replaceAll(/[#/]\w+/g, '')
  if (!/\d/.test(days)) return undefined
  return 'expressions with `?` come from Quartz, where day 1 is Sunday; here it is Monday. Write the day as a name, such as MON, or `*` instead of `?`.'
}
