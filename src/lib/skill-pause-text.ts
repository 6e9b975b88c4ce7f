/** Who runs a skill, and therefore waits while it is paused. */
export type SkillUse = {
  routes: readonly string[]
  schedules: readonly string[]
  /** The skills that call it. */
  skills: readonly string[]
  /** Programs called it over HTTP or MCP. */
  hasPrograms: boolean
}

type Route = { name?: unknown; target?: unknown; to?: unknown }

/** `callers`: `by` of the runs of the skill, and the skills whose requests for it are pending. */
export function skillUseOf(
  name: string,
  known: {
    routes: readonly Route[]
    schedules: readonly { id?: unknown; skill?: unknown }[]
    callers: readonly string[]
  },
): SkillUse {
  const skills = known.callers.flatMap((by) => /^skill (.+)$/.exec(by)?.[1] ?? [])
  return {
    routes: known.routes
      .filter(({ target, to }) => target === 'skill' && to === name)
      .map((route) => String(route.name)),
    schedules: known.schedules.filter(({ skill }) => skill === name).map(({ id }) => String(id)),
    skills: [...new Set(skills)].filter((skill) => skill !== name),
    hasPrograms: known.callers.some((by) => /^(http token:|mcp\b)/.test(by)),
  }
}

/** What the pause of a skill holds. */
export function skillPauseText(use: SkillUse): string {
  const sentences = [
    ownText(use),
    callsText(use),
    use.hasPrograms ? 'Programs that call it get an error.' : '',
  ]
  const text = sentences.filter(Boolean).join(' ')
  return text || 'All that starts it waits: messages, schedules, other skills and approved requests.'
}

function ownText({ routes, schedules }: SkillUse): string {
  const waiting = routes.length > 0 ? `Messages of ${named('route', routes)} are accepted, but wait` : ''
  const runs = schedules.length > 0 ? `runs of ${named('schedule', schedules)} wait` : ''
  if (waiting && runs) return `${waiting}, and ${runs} too.`
  return waiting || runs ? `${capitalised(waiting || runs)}.` : ''
}

function callsText({ routes, skills }: SkillUse): string {
  if (skills.length === 0) return ''
  const calls = `Calls by ${named('skill', skills)} wait`
  return routes.length > 0
    ? `${calls} too, with their messages.`
    : `${calls}, with their messages, and so do approved requests.`
}

/** `route a`, `routes a and b`. */
function named(kind: string, names: readonly string[]): string {
  const last = names.at(-1) ?? ''
  const list = names.length === 1 ? last : `${names.slice(0, -1).join(', ')} and ${last}`
  return `${kind}${names.length === 1 ? '' : 's'} ${list}`
}

function capitalised(text: string): string {
  return `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`
}
