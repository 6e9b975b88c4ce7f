import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { ExpressAdapter } from '@bull-board/express'
import type { Queue } from 'bullmq'
import type { RequestHandler } from 'express'

/** Bull Board for these queues, to be mounted at `path`. It asks nobody who they are. */
export function createBoard(queues: readonly Queue[], path: string): RequestHandler {
  const serverAdapter = new ExpressAdapter().setBasePath(path)
  const adapters = queues.map((queue) => new BullMQAdapter(queue))
  createBullBoard({
    queues: adapters,
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Trivium queues' } },
  })
  return serverAdapter.getRouter()
}
