import { authorOf } from '../../core/author.ts'
import { type Call, requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { newPause } from '../../core/pause-record.ts'
import type { Journal } from '../../core/store.ts'
import { createLastOfRoutes } from '../../engine/last-of-routes.ts'
import { noGateway } from '../../engine/receive.ts'
import { defined } from '../../lib/defined.ts'
import { didYouMean } from '../../lib/nearest.ts'
import { createConversationPauses } from './conversation-pauses.ts'
import type * as operations from './operations.ts'
import { createPauseChanges } from './pause-changes.ts'
import type { Pauses } from './pauses.ts'
import { describeRoute, type ListedRoute } from './route-list.ts'

/**
 * All operations of pauses except `pause-list` and `run-cancel`, which are elsewhere because they
 * also need subscriptions, schedules and approvals.
 */
export type PauseService = Omit<ServiceOf<typeof operations.pauses>, 'pause-list' | 'run-cancel'>

/** `…-pause`, `…-resume` and `route-list`. */
export function createPauseService(deps: {
  pauses: Pauses
  journal: Pick<Journal, 'search'>
  router: { routes(): readonly { name: string }[] }
  /** The routes of the configuration, in order. */
  listedRoutes(): readonly ListedRoute[]
  gatewayNames(): readonly string[]
  /** Throws `skill_not_found`, and `forbidden`. */
  permitPause(skill: string, call: Call): Promise<void>
  now(): number
}): PauseService {
  const { pauses, now } = deps
  const { begin, end } = createPauseChanges(pauses)
  const lastOf = createLastOfRoutes(deps.journal, now)
  const requireKnownGateway = (name: string) => {
    if (!deps.gatewayNames().includes(name)) throw noGateway(name, deps.gatewayNames())
  }
  const fieldsOf = (call: Call, args: { reason?: string; for?: number }) => newPause(call, args, now())
  const requireRoute = (name: string) => {
    const names = deps.router.routes().map((route) => route.name)
    if (!names.includes(name))
      throw new TriviumError('not_found', { path: `route ${name}`, hint: didYouMean(name, names) })
  }
  return {
    async 'gateway-pause'({ gateway: name, ...fields }, call) {
      requireGateway(call.caller, name)
      requireKnownGateway(name)
      return begin({ kind: 'gateway', name, ...fieldsOf(call, fields) })
    },
    async 'gateway-resume'({ gateway: name }, call) {
      requireGateway(call.caller, name)
      return end({ kind: 'gateway', name }, () => requireKnownGateway(name), authorOf(call.caller))
    },
    async 'route-pause'({ route: name, ...fields }, call) {
      requireRoute(name)
      return begin({ kind: 'route', name, ...fieldsOf(call, fields) })
    },
    'route-resume': ({ route: name }, call) =>
      end({ kind: 'route', name }, () => requireRoute(name), authorOf(call.caller)),
    async 'skill-pause'({ skill: name, ...fields }, call) {
      await deps.permitPause(name, call)
      if (!pauses.view.pauseOfSkill(name)) await pauses.calls.clear(name)
      return begin({ kind: 'skill', name, ...fieldsOf(call, fields) })
    },
    'skill-resume': ({ skill: name }, call) =>
      end({ kind: 'skill', name }, () => deps.permitPause(name, call), authorOf(call.caller)),
    ...createConversationPauses({ ...deps, begin, end, fieldsOf, requireKnownGateway }),
    async 'route-list'({ last }) {
      const routes = deps.listedRoutes().map((route) => describeRoute(route, pauses.view.list()))
      if (!last) return routes
      return Promise.all(
        routes.map(async (route) => ({ ...route, ...defined({ lastAt: await lastOf(route.name) }) })),
      )
    },
  }
}
