import { type AskedBy, askedBy } from '../../core/asked-by.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { pathGet } from '../../core/json.ts'
import { requireRoom } from '../../core/limits.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { compilePrefix } from '../../core/pattern.ts'
import type { Schedule } from '../../core/schedule.ts'
import { LIMITS, notThere, said } from './assistant-state.ts'
import type { AssistantContext } from './context.ts'
import type * as operations from './operations.ts'
import { readWhen, showTime } from './time-words.ts'

/** This skill itself, which would create a schedule at each run. */
const SELF = 'schedule-in-words'
const HINT =
  'Say when, then what: schedule every weekday at 9 digest, schedule tomorrow at 10: call Ada, schedule list, schedule cancel schedule-1.'

/** The arguments of `schedule-create` that words can express. */
type NewSchedule = Pick<Schedule, 'skill' | 'args' | 'name'> &
  Partial<Pick<Schedule, 'cron' | 'every' | 'step' | 'timezone'>> & {
    at?: string
    misfire: string
  }

/** The schedules, as far as planning needs them. */
export type Schedules = {
  list(args: object, call: Call): Promise<readonly (Schedule & { next?: number })[]>
  delete(args: { id: string }, call: Call): Promise<{ existed: boolean }>
  /** `askedBy`: recipient of the results. */
  create(schedule: NewSchedule, call: Call, askedBy?: AskedBy): Promise<Schedule>
  /** The first planned time (Unix ms) after `time`, if any. */
  next(
    times: Pick<Schedule, 'cron' | 'every' | 'step' | 'timezone' | 'created'>,
    time: number,
  ): number | undefined
}

/** Schedules in plain words. At the planned time, assistant words run as if the person said them; other text is sent as a reminder. */
export function createPlanning(deps: {
  schedules: Schedules
  world: Pick<AssistantContext, 'words' | 'isFor' | 'timezone'>
  now: () => number
}) {
  const { schedules, world, now } = deps

  /** The skill for these words, as chosen by the assistant's routes. */
  const skillFor = (text: string, call: Call): Pick<Schedule, 'skill' | 'args'> => {
    const word = world
      .words()
      .find(({ prefixes }) => prefixes.some((prefix) => compilePrefix(prefix).test(text)))
    if (word) return { skill: word.name, args: { text } }
    const [, skill = '', rest = ''] = /^([a-z][a-z0-9-]*)\s*:?\s*(.*)$/s.exec(text) ?? []
    if (skill !== '' && world.isFor(skill, call)) return { skill, args: { text: rest } }
    return { skill: 'remind', args: { text } }
  }

  const list = async (call: Call) => {
    const planned = (await schedules.list({}, call)).filter(({ next }) => next !== undefined)
    const lines = planned.map(
      ({ id, name, next = 0, timezone }) => `${id}: ${name}. Next: ${showTime(next, timezone)}`,
    )
    return {
      text: lines.join('\n') || 'Nothing is planned. Try: schedule every weekday at 9 digest',
      schedules: planned,
    }
  }

  const cancel = async (id: string, call: Call) => {
    const { existed } = await schedules.delete({ id }, call)
    if (!existed) throw notThere(id)
    return { text: `Cancelled ${id}.` }
  }

  const plan = async (text: string, call: Call) => {
    requireRoom(LIMITS.timed, text)
    const own = pathGet(call.message?.data, 'timezone')
    const timezone = typeof own === 'string' ? own : world.timezone()
    const found = await readWhen(text, { timezone, now: now() })
    if (!found)
      throw new TriviumError('usage', {
        details: `"${shortened(text)}" contains no time that I understand. ${HINT}`,
      })
    const { what, when, ...times } = found
    const run = skillFor(said(what, `Say what to do ${when}: schedule ${when} digest.`), call)
    if (isPlanning(run.skill, world))
      throw new TriviumError('usage', { details: 'A schedule cannot create schedules.' })
    if (schedules.next({ ...times, created: new Date(now()).toISOString() }, now()) === undefined)
      throw new TriviumError('usage', { details: `"${when}" has passed.` })
    const named = { ...run, ...times, name: `${what}, ${when}`, misfire: 'once' }
    const made = await schedules.create(named, call, askedBy(call))
    const does = run.skill === 'remind' ? `I say "${what}"` : what
    const first = schedules.next(made, now())
    const second = first === undefined ? undefined : schedules.next(made, first)
    const then = second === undefined ? '' : `, then ${showTime(second, made.timezone)}`
    const coming = first === undefined ? '' : ` Next: ${showTime(first, made.timezone)}${then}.`
    return { text: `${made.id}: ${does}, ${when}.${coming}`, schedule: made }
  }

  return {
    async 'schedule-in-words'({ text }, call) {
      if (/^(?:list|show)?$/i.test(text)) return list(call)
      const [, number] = /^(?:(?:cancel|delete|remove|stop|end)\s+)?(?:schedule)?-?(\d+)$/i.exec(text) ?? []
      return number === undefined ? plan(text, call) : cancel(`schedule-${number}`, call)
    },
    remind: async ({ text }) => ({ text: said(text, 'Say what to remind of.') }),
  } satisfies Partial<ServiceOf<typeof operations.assistant>>
}

function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

function isPlanning(skill: string, { words }: Pick<AssistantContext, 'words'>): boolean {
  return skill === SELF || words().some(({ name, ref }) => name === skill && ref === SELF)
}
