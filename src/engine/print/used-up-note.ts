import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { listTime, timeOf } from '../../core/readable.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { shortTime } from './pause-note.ts'

/** `budget used up until 18:30 UTC`, for a list. */
export function usedUpText({ until }: JsonObject): string {
  return paint('yellow', `budget used up until ${listTime(until, shortTime)}`)
}

/** The used-up budget of a skill, after an empty line; nothing if runs may begin. */
export function usedUpNote(usedUp: unknown): string[] {
  if (!isJsonObject(usedUp)) return []
  const { of, skill, limit, until } = usedUp
  const whose = of === 'all' ? 'all models' : `the skill ${skill}`
  const text = `The budget of ${whose} (${limit}) is used up until ${timeOf(until)}: runs do not begin before, and messages wait.`
  return [
    '',
    paragraph('', text),
    paragraph('  → ', '`trivium cost` shows the budgets; `model.budget` in routes.yaml sets them.'),
  ]
}
