/** Who runs a skill. Its pause holds the routes and schedules; calls of other skills still run. */
export type SkillUse = {
  name: string
  routes: readonly string[]
  schedules: readonly string[]
  /** The skills that call it, with their routes. */
  callers: readonly { skill: string; routes: readonly string[] }[]
  /** The routes that are paused. */
  paused: readonly string[]
}

type Route = { name?: unknown; target?: unknown; to?: unknown; paused?: unknown }

/** `callers`: `by` of the runs of the skill, and the skills whose requests for it are pending. */
export function skillUseOf(
  name: string,
  known: {
    routes: readonly Route[]
    schedules: readonly { id?: unknown; skill?: unknown }[]
    callers: readonly string[]
  },
): SkillUse {
  const routesOf = (skill: string) =>
    known.routes
      .filter(({ target, to }) => target === 'skill' && to === skill)
      .map((route) => String(route.name))
  const skills = known.callers.flatMap((by) => /^skill (.+)$/.exec(by)?.[1] ?? [])
  const others = [...new Set(skills)].filter((skill) => skill !== name)
  return {
    name,
    routes: routesOf(name),
    schedules: known.schedules.filter(({ skill }) => skill === name).map(({ id }) => String(id)),
    callers: others.map((skill) => ({ skill, routes: routesOf(skill) })),
    paused: known.routes.filter(({ paused }) => paused !== undefined).map((route) => String(route.name)),
  }
}

/** What the pause of a skill holds, who still calls it, and what stops these calls. */
export function skillPauseText(use: SkillUse): string {
  return [skillPauseEffect(use), stopText(use)].filter(Boolean).join(' ')
}

/** What pausing a skill holds, and who still calls it. */
export function skillPauseEffect(use: SkillUse): string {
  const { routes, schedules, callers } = use
  return `${heldText(use)} ${callers.length > 0 ? callsText(use) : directText(routes, schedules)}`
}

/** The routes whose messages make other skills call it. Pausing these routes stops the calls. */
function callingRoutes({ callers }: SkillUse): string[] {
  return [...new Set(callers.flatMap((caller) => caller.routes))]
}

/** The routes that are not paused. */
export function routesToStop(use: SkillUse): string[] {
  return callingRoutes(use).filter((route) => !use.paused.includes(route))
}

/** The calling skills that no route runs. */
function callingSkills({ callers }: SkillUse): string[] {
  return callers.filter(({ routes }) => routes.length === 0).map(({ skill }) => skill)
}

/** Whether the pause of the calling routes stops all calls of the skill. */
export function routesStopAll(use: SkillUse): boolean {
  return use.callers.length > 0 && callingSkills(use).length === 0
}

function heldText({ name, routes, schedules }: SkillUse): string {
  const waiting = routes.length > 0 ? `Messages of ${named('route', routes)} are accepted, but wait` : ''
  const plans = named('schedule', schedules)
  const skipped = schedules.length > 0 ? `${plans} ${schedules.length === 1 ? 'does' : 'do'} not run` : ''
  if (waiting && skipped) return `${waiting}, and ${skipped}.`
  if (waiting) return `${waiting}.`
  if (skipped) return `${skipped[0]?.toUpperCase()}${skipped.slice(1)}.`
  return `This holds nothing: no route and no schedule runs ${name}.`
}

function directText(routes: readonly string[], schedules: readonly string[]): string {
  return routes.length + schedules.length > 0
    ? 'Direct calls still run.'
    : 'Direct calls and approved requests still run.'
}

function callsText(use: SkillUse): string {
  const { callers } = use
  const skills = callers.map(({ skill }) => skill)
  const calls = skills.length === 1 ? 'calls' : 'call'
  const names = named('skill', skills)
  if (routesStopAll(use) && routesToStop(use).length === 0) {
    const routes = callingRoutes(use)
    const are = routes.length === 1 ? 'is' : 'are'
    return `Only ${names} ${calls} it, for messages of ${named('route', routes)}, which ${are} paused.`
  }
  return `${names[0]?.toUpperCase()}${names.slice(1)} still ${calls} it: these calls run, also approved requests.`
}

function stopText(use: SkillUse): string {
  const stops = [named('route', routesToStop(use)), named('skill', callingSkills(use))].filter(Boolean)
  return stops.length === 0 ? '' : `To stop them, pause ${stops.join(' and ')}.`
}

/** `route a`, `routes a and b`. */
function named(kind: string, names: readonly string[]): string {
  if (names.length === 0) return ''
  const last = names.at(-1) ?? ''
  const list = names.length === 1 ? last : `${names.slice(0, -1).join(', ')} and ${last}`
  return `${kind}${names.length === 1 ? '' : 's'} ${list}`
}
