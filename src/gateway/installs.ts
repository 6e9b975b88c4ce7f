import { TriviumError } from '../core/errors.ts'
import type { Services } from '../core/services.ts'
import type { Gateways } from './gateways.ts'

/** Where workspaces let apps in by themselves, over all gateways that run here. */
export function createInstallList(gateways: Pick<Gateways, 'names' | 'get'>) {
  const having = (only: string | undefined) =>
    gateways.names().flatMap((gateway) => {
      const { installs } = gateways.get(gateway) ?? {}
      return installs && (only ?? gateway) === gateway ? [{ gateway, installs }] : []
    })
  return {
    async installs(asked) {
      const lists = having(asked.gateway).map(async ({ gateway, installs }) =>
        (await installs.list()).map((one) => ({ gateway, ...one })),
      )
      return (await Promise.all(lists)).flat()
    },
    async 'installs-remove'(asked) {
      const removals = having(asked.gateway).map(({ installs }) => installs.remove(asked.team))
      const removed = await Promise.all(removals)
      if (!removed.includes(true))
        throw new TriviumError('not_found', { path: `installation of ${asked.team}` })
      return { ok: true }
    },
  } satisfies Pick<Services['gateways'], 'installs' | 'installs-remove'>
}
