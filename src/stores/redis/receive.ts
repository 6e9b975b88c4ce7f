import { randomUUID } from 'node:crypto'
import type { ReceiveQueue } from '../../core/store.ts'
import { entryOf, idParts, messageOf } from './codec.ts'
import { createHandOver } from './hand-over.ts'
import { digest, type Roots } from './keys.ts'
import { isNothing, listOf, numberOf, textOf } from './reply.ts'
import type { Run } from './scripts.ts'

export function createReceive(run: Run, { main }: Roots, now: () => number): ReceiveQueue {
  const handOver = createHandOver()
  const settle = async (receipt: string, how: 'ack' | 'release') =>
    numberOf(await run('receive-settle', main, receipt, how)) === 1

  return {
    take: async ({ gateway = '', conversation }, lease) => {
      const wanted = conversation === undefined ? '' : digest(conversation)
      const own = (conversation === undefined ? undefined : idParts(conversation)) ?? ['', '', '']
      const args = [gateway, wanted, ...own, lease ?? '', randomUUID()]
      const reply = await handOver.call((handing) => run('receive-take', main, ...args, ...handing))
      if (isNothing(reply)) return undefined
      const [entry, receipt] = listOf(reply)
      const message = messageOf(entryOf(entry))
      return lease === undefined ? { message } : { message, receipt: textOf(receipt) }
    },
    ack: (receipt) => settle(receipt, 'ack'),
    release: (receipt) => settle(receipt, 'release'),
    nextExpiry: async () => {
      const wait = await run('receive-expiry', main)
      return isNothing(wait) ? undefined : now() + Math.max(0, numberOf(wait))
    },
  }
}
