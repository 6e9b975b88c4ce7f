import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Printers, timeOf } from '../../core/readable.ts'
import { formatDuration } from '../../core/units.ts'
import { commandText } from '../../lib/command-text.ts'
import { paint } from '../../lib/paint.ts'
import { shorten } from '../../lib/short-text.ts'
import { tableOr } from '../../lib/text-table.ts'

export const printers: Printers = {
  'schedule-list': (result) => humanSchedules(objectsIn(result)),
  'schedule-create': humanSchedule,
  'schedule-run': humanRun,
  'schedule-pause': humanSchedulePause,
  'schedule-resume': humanSchedulePause,
  'schedule-delete': humanDeletion,
}

/** `schedule-list`. */
function humanSchedules(schedules: readonly JsonObject[]): string {
  return tableOr(
    'There are no schedules.',
    ['id', 'name', 'skill', 'when', 'next', 'from', 'arguments'],
    schedules,
    (schedule) => [
      schedule.id,
      schedule.name,
      schedule.skill,
      whenOf(schedule),
      nextOf(schedule),
      schedule.source ?? schedule.channel,
      shorten(JSON.stringify(schedule.args ?? {}), 60),
    ],
  )
}

/** `schedule-create`. */
function humanSchedule(result: Json): string {
  const { id, name, skill, next, paused } = Object(result)
  const isPaused = isJsonObject(paused) || paused === true
  const isKnown = next !== undefined || paused !== undefined
  const when = isPaused ? 'paused' : `next at ${timeOf(next)}`
  return `The schedule ${id} (${name}) runs ${skill}${isKnown ? `; ${when}` : ''}.`
}

/** `schedule-run`. With a repeated key, nothing was run. */
function humanRun(result: Json): string {
  const { id, key, repeated } = Object(result)
  if (repeated === true)
    return `The schedule ${id} has already run with the key ${key}; nothing was run again.`
  return `The schedule ${id} runs now (key ${key}).`
}

/** `schedule-pause` and `schedule-resume`. */
function humanSchedulePause(result: Json): string {
  const { id, paused } = Object(result)
  if (paused === true)
    return `The schedule ${id} is paused: it does not run until ${commandText('schedule resume', id)}.`
  return `The schedule ${id} continues at its next planned time.`
}

/** `schedule-delete`. */
function humanDeletion(result: Json, { id }: JsonObject): string {
  return pathGet(result, 'existed') === false
    ? `There was no schedule ${id}.`
    : `The schedule ${id} is deleted.`
}

/** When a schedule runs next. */
function nextOf({ paused, next }: JsonObject): string {
  if (paused) return paint('yellow', 'paused')
  return next === undefined ? 'over' : timeOf(next)
}

/** The times of a schedule: an interval, a time, or a cron expression. */
function whenOf({ every, cron, step, timezone }: JsonObject): string {
  if (every !== undefined) return `every ${formatDuration(Number(every))}`
  if (/^\d{4}-/.test(String(cron))) return `once at ${[cron, timezone].join(', ')}`
  return [cron, step && `each ${step}`, timezone].filter(Boolean).join(', ')
}
