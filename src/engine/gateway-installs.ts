import { TriviumError } from '../core/errors.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Transport } from '../core/transport.ts'
import type { installs } from './operations/gateways.ts'

/** Installations of apps by workspaces (OAuth), of all running gateways that support them. */
export function installsService(running: ReadonlyMap<string, { transport?: Transport }>) {
  const installsOf = (only: string | undefined) =>
    [...running].flatMap(([gateway, { transport }]) =>
      transport?.installs && (only ?? gateway) === gateway ? { gateway, ...transport.installs } : [],
    )

  return {
    async installs({ gateway: only }) {
      const lists = installsOf(only).map(async ({ gateway, list }) =>
        (await list()).map((one) => ({ gateway, ...one })),
      )
      return (await Promise.all(lists)).flat()
    },
    async 'installs-remove'({ team, gateway: only }) {
      const removed = await Promise.all(installsOf(only).map(({ remove }) => remove(team)))
      if (!removed.includes(true)) throw new TriviumError('not_found', { path: `installation of ${team}` })
      return { ok: true }
    },
  } satisfies ServiceOf<typeof installs>
}
