import { randomUUID } from 'node:crypto'
import { idParts } from '../../core/message-id.ts'
import type { ReceiveQueue } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { takenNote } from '../shared/values.ts'
import { type Entry, messageOf } from './codec.ts'
import { createHandOver, digest, type Server } from './scripts.ts'

export function createReceive({ run, roots: { main }, now, isClosed }: Server): ReceiveQueue {
  const handOver = createHandOver(
    (_, handing) => run('receive-take', main, '', '', '', '', '', '', '', ...handing),
    isClosed,
  )
  const end = async (how: 'ack' | 'release', receipt: string) =>
    (await run('receive-lease', main, how, receipt)) === 1

  return {
    take: async ({ gateway = '', conversation }, lease, by) => {
      const wanted = conversation === undefined ? '' : digest(conversation)
      const own = (conversation === undefined ? undefined : idParts(conversation)) ?? ['', '', '']
      const args = [gateway, wanted, ...own, lease ?? '', randomUUID()]
      const { what, detail } = takenNote(lease, by)
      const note = JSON.stringify(detail === undefined ? ['r', what] : ['r', what, detail])
      type Reply = [entry: Entry, receipt: string, missed: number] | null
      const reply = await handOver('', (handing) =>
        run<Reply>('receive-take', main, ...args, ...handing, note),
      )
      if (!reply) return undefined
      const [entry, receipt, missed] = reply
      const message = messageOf(entry)
      return { message, ...defined({ missed: missed || undefined, receipt: receipt || undefined }) }
    },
    ack: (receipt) => end('ack', receipt),
    release: (receipt) => end('release', receipt),
    leased: async (receipt) => {
      const entry = await run<Entry | 0>('receive-lease', main, 'show', receipt)
      return entry ? messageOf(entry) : undefined
    },
    nextExpiry: async () => {
      const wait = await run<number | null>('receive-lease', main, 'next')
      return wait === null ? undefined : now() + Math.max(0, wait)
    },
  }
}
