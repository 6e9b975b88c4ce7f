import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { after } from 'node:test'
import { type ClientOptions, type RawData, WebSocket } from 'ws'
import { z } from 'zod'
import type { Reply } from '../../../src/core/transport.ts'
import { websocket } from '../../../transports/websocket/index.ts'
import { startGateway } from '../../fixtures/gateway.ts'
import type { TransportFixtureOptions } from '../../fixtures/transport-deps.ts'
import { until } from '../../fixtures/until.ts'

const PATH = '/ws'

/** Starts a WebSocket gateway with these options. */
export async function startWebsocket(options: object = {}, fixtureOptions: TransportFixtureOptions = {}) {
  const fixture = await startGateway(websocket, { path: PATH, ...options }, fixtureOptions)
  return {
    ...fixture,
    address: fixture.wsUrl + PATH,
    connect: (query = '', clientOptions?: ClientOptions, protocols?: string[]) =>
      connect(fixture.wsUrl + PATH + query, clientOptions, protocols),
    refusal: (query = '', clientOptions?: ClientOptions) =>
      refusal(fixture.wsUrl + PATH + query, clientOptions),
    reply(conversation: string, text: string, more: Partial<Reply> = {}) {
      return fixture.transport.send({ key: `k-${text}`, gateway: 'test', conversation, text, ...more })
    },
  }
}

const frame = z.looseObject({
  type: z.string(),
  id: z.string().optional(),
  messageId: z.string().optional(),
  duplicate: z.boolean().optional(),
  conversation: z.string().optional(),
  text: z.string().optional(),
  seq: z.number().optional(),
  missed: z.number().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
})

export type Frame = z.output<typeof frame>

/** A frame of the server, checked for its types. */
export function readFrame(raw: RawData): Frame {
  return frame.parse(JSON.parse(raw.toString()))
}

/** A client that records all frames. */
export async function connect(url: string, options: ClientOptions = {}, protocols: string[] = []) {
  const socket = new WebSocket(url, protocols, options)
  const frames: Frame[] = []
  const closed = once(socket, 'close')
  socket.on('message', (raw) => frames.push(readFrame(raw)))
  socket.on('error', () => undefined)
  after(() => socket.terminate())
  await once(socket, 'open')
  const client = {
    socket,
    frames,
    /** Resolves with the close code. */
    closed: closed.then(([code]): number => Number(code)),
    say: (message: unknown) => socket.send(JSON.stringify(message)),
    /** Waits for the first frame of this type that was not returned before. */
    async next(type: string): Promise<Frame> {
      const index = await until(() => frames.findIndex((each) => each.type === type) + 1, `a ${type} frame`)
      const [frame] = frames.splice(index - 1, 1)
      if (!frame) throw new Error('the frame was removed')
      return frame
    },
  }
  const welcome = await client.next('welcome')
  return { ...client, welcome, conversation: welcome.conversation ?? '' }
}

/** Tries to connect, and resolves with the response of the server, which must refuse it. */
async function refusal(url: string, options: ClientOptions = {}) {
  const socket = new WebSocket(url, options)
  socket.on('error', () => undefined)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    socket.on('unexpected-response', (_, answer) => resolve(answer))
    socket.on('open', () => reject(new Error('the client was accepted')))
  })
  const chunks = await response.toArray()
  return { status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString() }
}
