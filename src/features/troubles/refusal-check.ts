import type { Check } from '../../core/transport.ts'
import type { RefusalCount } from '../../engine/refusal-tally.ts'
import { refusalTroubles } from './refusal-troubles.ts'
import type { SecretsOf } from './secret-places.ts'

/** The end of the name of this check. */
const NAME = 'deliveries'

/**
 * The check `deliveries` of a gateway that refuses many of them now, with the likely cause and what
 * to do; undefined for other gateways. `at`: Unix ms. `withLastGood`: adds the last accepted delivery
 * from before the start of the daemon, so that the cause is that of all other lists.
 */
export async function refusalCheck(
  gateway: string,
  {
    counts,
    withLastGood,
    at,
    secretsOf,
  }: {
    counts: readonly RefusalCount[]
    withLastGood(count: RefusalCount): Promise<RefusalCount>
    at: number
    secretsOf?: SecretsOf
  },
): Promise<Check | undefined> {
  const own = await Promise.all(counts.filter((each) => each.gateway === gateway).map(withLastGood))
  const current = refusalTroubles(own, at, secretsOf).filter(({ severity }) => severity !== 'info')
  const worst = current.find(({ severity }) => severity === 'error') ?? current[0]
  if (!worst) return undefined
  const { title, text, todo, severity } = worst
  const detail = `${title.replace(`Gateway ${gateway} `, '')}: ${text} ${todo}`
  const name = `${gateway}: ${NAME}`
  return severity === 'error' ? { name, ok: false, detail } : { name, ok: true, warning: true, detail }
}
