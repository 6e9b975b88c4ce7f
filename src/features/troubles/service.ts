import { authorOf } from '../../core/author.ts'
import { type Caller, requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Trouble } from '../../core/trouble.ts'
import { defined } from '../../lib/defined.ts'
import { nearest } from '../../lib/nearest.ts'
import type { Acknowledgements } from './acknowledgements.ts'
import type * as operations from './operations.ts'

export type TroubleService = ServiceOf<typeof operations.troubles>

/** `trouble-acknowledge` and `trouble-release`. */
export function createTroubleService(deps: {
  list(): Promise<readonly Trouble[]>
  acknowledgements: Pick<Acknowledgements, 'add' | 'remove'>
  now(): number
}): TroubleService {
  const { acknowledgements } = deps
  const find = async (id: string, caller: Caller): Promise<Trouble> => {
    const troubles = await deps.list()
    const found = troubles.find((one) => one.id === id)
    const ids = troubles.map((one) => one.id)
    const near = nearest(id, ids)
    const hint = near === undefined ? ' `trivium trouble list` lists them.' : ` Did you mean ${near}?`
    if (!found) throw new TriviumError('not_found', { path: `trouble ${id}`, hint })
    if (found.where.gateway !== undefined) requireGateway(caller, found.where.gateway)
    return found
  }
  return {
    async acknowledge({ id, reason, for: ms }, { caller }) {
      const trouble = await find(id, caller)
      const until = ms === undefined ? undefined : deps.now() + ms
      await acknowledgements.add(trouble, authorOf(caller), defined({ reason, until }))
      return { ok: true, trouble: trouble.title, ...defined({ until }) }
    },
    async release({ id }, { caller }) {
      const trouble = await find(id, caller)
      return { ok: true, trouble: trouble.title, existed: await acknowledgements.remove(trouble.key) }
    },
  }
}
