import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Json } from '../../src/core/json.ts'
import type { Attachment, NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { type DecodedBody, decodeBody } from '../deliveries/decode-body.ts'
import type { BodyFile } from '../deliveries/multipart.ts'
import type { Answer, Preset, PresetOptions } from '../deliveries/preset.ts'
import { createMemoryLimit, createUnpack, isCompressed } from '../deliveries/unpack.ts'
import type { Verifier } from '../deliveries/verifier-types.ts'
import type { WebhookOptions } from './config.ts'
import { withOriginal } from './keep-original.ts'
import { createNormalizer, type Normalized } from './normalize.ts'
import { splitterFor } from './part-view.ts'
import { leavesTypeOpen, proofOf } from './proof.ts'
import { decodeSignedBody } from './signed-body.ts'

/** The messages of a delivery, and its body. */
export type ReadResult = Normalized & { body: Json | undefined }
/** The messages, or the response to a handshake of a sender. */
export type Outcome = ReadResult | { greeting: Answer }

/** A decompressed body, raw and decoded. `keySource`: see `decodeSignedBody`. */
type DecompressedBody = { bytes: Buffer; decoded: DecodedBody; keySource?: DecodedBody }

/**
 * Makes a function that turns an authentic delivery into messages, or into the response to a
 * handshake.
 */
export function createReader(
  options: WebhookOptions,
  { gateway, artifacts }: Pick<TransportDeps, 'gateway' | 'artifacts'>,
  preset: Preset | undefined,
  verifier: Verifier,
) {
  const limit = options['max-body']
  const unpack = createUnpack(gateway, limit)
  const withinMemory = createMemoryLimit(limit)
  const normalize = createNormalizer(gateway, options)
  const presetOptions: PresetOptions = { secret: [], ...options.verify }

  const decode = createDecoder(options, preset)

  const withoutFiles = (
    request: IncomingMessage,
    { bytes, decoded, keySource }: DecompressedBody,
  ): Outcome => {
    const greeting = preset?.handshake?.(decoded.body, presetOptions, request.headers)
    if (greeting) return { greeting }
    const { messages, isSplit } = normalize(request, decoded, keySource)
    if (options.respond === 'result') {
      for (const { data } of messages) data.replyTarget = { body: contentHash(request, bytes) }
    }
    const { body } = decoded
    if (!options['keep-original'] || isSplit) return { messages, isSplit, body }
    const originals = messages.map((message) => withOriginal(message, request, bytes, options.verify))
    return { messages: originals, isSplit, body }
  }

  /** Saves the files of a delivery and attaches them to each message. */
  async function saveFiles(messages: readonly NewMessage[], files: readonly BodyFile[]) {
    const attachments: Attachment[] = []
    for (const { name, type, bytes } of files)
      attachments.push(await artifacts.save(name, type, bytes, limit))
    const fields = files.map(({ field, name }) => ({ field, name }))
    return messages.map((message) => ({ ...message, data: { ...message.data, files: fields }, attachments }))
  }

  async function withFiles(request: IncomingMessage, content: DecompressedBody): Promise<Outcome> {
    const result = withoutFiles(request, content)
    const { bytes, decoded } = content
    if ('greeting' in result) return result
    if (decoded.format === 'binary') {
      const type = request.headers['content-type'] ?? 'application/octet-stream'
      const attachments = [await artifacts.save('body.bin', type, bytes, limit)]
      const asFile = (message: NewMessage) => ({
        ...message,
        data: { ...message.data, format: 'file' },
        attachments,
      })
      return { ...result, messages: result.messages.map(asFile) }
    }
    if (!decoded.files?.length) return result
    return { ...result, messages: await saveFiles(result.messages, decoded.files) }
  }

  return {
    ...createDecompression(options, (encoding, body) =>
      withinMemory(body.length, () => unpack(encoding, body)),
    ),
    /**
     * Throws `bad_request`, `body_too_large`, `limit_reached` or `overloaded`. Synchronous unless
     * it has to decompress a body, save files or answer a handshake.
     */
    read(request: IncomingMessage, raw: Buffer): Outcome | Promise<Outcome> {
      const { 'content-encoding': encoding } = request.headers
      const content = isCompressed(encoding) ? undefined : decode(request, raw)
      const hasFiles = content && (content.decoded.format === 'binary' || content.decoded.files?.length)
      if (content && !hasFiles && !verifier.handshake) return withoutFiles(request, content)
      return withinMemory(raw.length, async () => {
        const readable = content ?? decode(request, await unpack(encoding ?? 'identity', raw))
        const greeting = await verifier.handshake?.(readable.bytes)
        return greeting ? { greeting } : withFiles(request, readable)
      })
    },
  }
}

/**
 * Makes a function that decodes bodies by their content type. Distrusts a type that is not signed.
 */
function createDecoder(options: WebhookOptions, preset: Preset | undefined) {
  const { verify, body: as } = options
  const splits = splitterFor(options, preset?.split) !== undefined
  const isTypeOpen = leavesTypeOpen(proofOf(verify, preset, as))
  return ({ headers }: IncomingMessage, bytes: Buffer): DecompressedBody => {
    const type = headers['content-type']
    return isTypeOpen
      ? { bytes, ...decodeSignedBody(type, bytes, as, splits) }
      : { bytes, decoded: decodeBody(type, bytes, as) }
  }
}

/**
 * The hash under which a reply is stored: only a sender of the same content gets it. With GET, the
 * content is in the URL.
 */
function contentHash({ method, url = '' }: IncomingMessage, bytes: Buffer): string {
  if (method === 'POST') return hash('sha256', bytes)
  return hash('sha256', Buffer.concat([Buffer.from(`${method} ${url}\n`), bytes]))
}

/** For senders that sign a body and then compress it. */
function createDecompression(
  { verify }: WebhookOptions,
  unpack: (encoding: string, body: Buffer) => Promise<Buffer>,
) {
  const signsUnpacked = 'signed-body' in verify && verify['signed-body'] === 'unpacked'
  return {
    /** Whether a body has to be decompressed before its signature can be checked. */
    isSignedUnpacked: ({ headers }: IncomingMessage) =>
      signsUnpacked && isCompressed(headers['content-encoding']),
    /** Decompresses such a body. Afterwards, the request is as if it had been sent uncompressed. */
    async decompress({ headers }: IncomingMessage, body: Buffer): Promise<Buffer> {
      const decompressed = await unpack(headers['content-encoding'] ?? 'identity', body)
      delete headers['content-encoding']
      return decompressed
    },
  }
}
