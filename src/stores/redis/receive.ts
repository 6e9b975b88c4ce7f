import { randomUUID } from 'node:crypto'
import { idParts } from '../../core/message-id.ts'
import type { ReceiveQueue } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { takenNote } from '../shared/values.ts'
import { entryOf, messageOf } from './codec.ts'
import { digest } from './keys.ts'
import { isNothing, listOf, numberOf, textOf } from './reply.ts'
import { createHandOver, type Server } from './scripts.ts'

export function createReceive({ run, roots: { main }, now }: Server): ReceiveQueue {
  const handOver = createHandOver()
  const end = async (how: 'ack' | 'release', receipt: string) =>
    numberOf(await run('receive-lease', main, how, receipt)) === 1

  return {
    take: async ({ gateway = '', conversation }, lease, by) => {
      const wanted = conversation === undefined ? '' : digest(conversation)
      const own = (conversation === undefined ? undefined : idParts(conversation)) ?? ['', '', '']
      const args = [gateway, wanted, ...own, lease ?? '', randomUUID()]
      const { what, detail } = takenNote(lease, by)
      const note = JSON.stringify(detail === undefined ? ['r', what] : ['r', what, detail])
      const reply = await handOver('', (handing) => run('receive-take', main, ...args, ...handing, note))
      if (isNothing(reply)) return undefined
      const [entry, receipt, lost] = listOf(reply)
      const missed = numberOf(lost) || undefined
      return {
        message: messageOf(entryOf(entry)),
        ...defined({ missed, receipt: textOf(receipt) || undefined }),
      }
    },
    ack: (receipt) => end('ack', receipt),
    release: (receipt) => end('release', receipt),
    leased: async (receipt) => {
      const entry = await run('receive-lease', main, 'show', receipt)
      return Array.isArray(entry) ? messageOf(entryOf(entry)) : undefined
    },
    nextExpiry: async () => {
      const wait = await run('receive-lease', main, 'next')
      return isNothing(wait) ? undefined : now() + Math.max(0, numberOf(wait))
    },
  }
}
