import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Json } from '../../src/core/json.ts'
import type { Attachment, NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { type DecodedBody, decodeBody } from '../deliveries/decode-body.ts'
import type { BodyFile } from '../deliveries/multipart.ts'
import type { Answer, Own, Preset } from '../deliveries/preset.ts'
import { createUnpack, createWorkroom, isPacked } from '../deliveries/unpack.ts'
import type { Verifier } from '../deliveries/verifier-types.ts'
import type { WebhookOptions } from './config.ts'
import { withOriginal } from './keep-original.ts'
import { createNormalizer, type Normalized } from './normalize.ts'

/** The messages of a delivery, and its body. */
export type Read = Normalized & { body: Json | undefined }

/** A decompressed body, raw and decoded. */
type Opened = { whole: Buffer; decoded: DecodedBody }

/** Makes a function that turns an authentic delivery into messages, or into the response of a handshake. */
export function createReader(
  options: WebhookOptions,
  { gateway, artifacts }: Pick<TransportDeps, 'gateway' | 'artifacts'>,
  preset: Preset | undefined,
  verifier: Verifier,
) {
  const limit = options['max-body']
  const unpack = createUnpack(gateway, limit)
  const inWorkroom = createWorkroom(limit)
  const normalize = createNormalizer(gateway, options)
  const own: Own = { secret: [], ...options.verify }

  const open = ({ headers }: IncomingMessage, whole: Buffer): Opened => ({
    whole,
    decoded: decodeBody(headers['content-type'], whole, options.body),
  })

  const toRead = (request: IncomingMessage, { whole, decoded }: Opened): Read | { greeting: Answer } => {
    const greeting = preset?.handshake?.(decoded.body, own, request.headers)
    if (greeting) return { greeting }
    const { messages, isSplit } = normalize(request, decoded)
    if (options.respond === 'result') {
      for (const { data } of messages) data.replyTarget = { body: hash('sha256', whole) }
    }
    const { body } = decoded
    if (!options['keep-original'] || isSplit) return { messages, isSplit, body }
    const originals = messages.map((message) => withOriginal(message, request, whole, options.verify))
    return { messages: originals, isSplit, body }
  }

  /** Saves the files of a delivery and attaches them to each message. */
  async function saveFiles(messages: readonly NewMessage[], files: readonly BodyFile[]) {
    const attachments: Attachment[] = []
    for (const { name, type, bytes } of files)
      attachments.push(await artifacts.save(name, type, bytes, limit))
    const places = files.map(({ field, name }) => ({ field, name }))
    return messages.map((message) => ({ ...message, data: { ...message.data, files: places }, attachments }))
  }

  async function withFiles(request: IncomingMessage, opened: Opened): Promise<Read | { greeting: Answer }> {
    const read = toRead(request, opened)
    const { whole, decoded } = opened
    if ('greeting' in read) return read
    if (decoded.format === 'binary') {
      const type = request.headers['content-type'] ?? 'application/octet-stream'
      const attachments = [await artifacts.save('body.bin', type, whole, limit)]
      const asFile = (message: NewMessage) => ({
        ...message,
        data: { ...message.data, format: 'file' },
        attachments,
      })
      return { ...read, messages: read.messages.map(asFile) }
    }
    if (!decoded.files?.length) return read
    return { ...read, messages: await saveFiles(read.messages, decoded.files) }
  }

  return {
    ...createUnseal(options, (encoding, sent) => inWorkroom(sent.length, () => unpack(encoding, sent))),
    /** Throws `bad_request`, `body_too_large`, `limit_reached` or `overloaded`. Synchronous unless it has to wait. */
    read(
      request: IncomingMessage,
      sent: Buffer,
    ): Read | { greeting: Answer } | Promise<Read | { greeting: Answer }> {
      const { 'content-encoding': encoding } = request.headers
      const opened = isPacked(encoding) ? undefined : open(request, sent)
      const hasFiles = opened && (opened.decoded.format === 'binary' || opened.decoded.files?.length)
      if (opened && !hasFiles && !verifier.handshake) return toRead(request, opened)
      return inWorkroom(sent.length, async () => {
        const ready = opened ?? open(request, await unpack(encoding ?? 'identity', sent))
        const greeting = await verifier.handshake?.(ready.whole)
        return greeting ? { greeting } : withFiles(request, ready)
      })
    },
  }
}

/** For senders that sign a body before they compress it. */
function createUnseal(
  { verify }: WebhookOptions,
  unpack: (encoding: string, sent: Buffer) => Promise<Buffer>,
) {
  const signsUnpacked = 'signed-body' in verify && verify['signed-body'] === 'unpacked'
  return {
    /** Whether a body has to be decompressed before its signature can be checked. */
    isSealed: ({ headers }: IncomingMessage) => signsUnpacked && isPacked(headers['content-encoding']),
    /** Decompresses such a body. Afterwards, the request is as if it had been sent so. */
    async unseal({ headers }: IncomingMessage, sent: Buffer): Promise<Buffer> {
      const whole = await unpack(headers['content-encoding'] ?? 'identity', sent)
      delete headers['content-encoding']
      return whole
    },
  }
}
