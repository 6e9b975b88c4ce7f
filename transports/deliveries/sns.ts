import { verify } from 'node:crypto'
import { TriviumError } from '../../src/core/errors.ts'
import { parseForeignJson } from '../../src/core/foreign-json.ts'
import { isJsonObject, type JsonObject, parseJson, textAt } from '../../src/core/json.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { createCertificates, isCurrent, requestFrom } from './certificates.ts'
import { type ReadableDelivery, valueAt } from './pointers.ts'
import { json, type Preset } from './preset.ts'
import type { SnsOptions } from './sns-options.ts'
import type { Verifier, VerifierDeps } from './verifier-types.ts'

/** https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html */
export const SNS: Preset = {
  key: (delivery) => valueAt('MessageId', withJson(delivery)),
  event: (delivery) => valueAt('Type', withJson(delivery)),
  from: (delivery) => valueAt('TopicArn', withJson(delivery)),
  answer: json,
}

/** SNS labels its JSON as text/plain. */
function withJson(delivery: ReadableDelivery): ReadableDelivery {
  return { ...delivery, body: delivery.body ?? parseJson(delivery.text) }
}

/**
 * The signed fields of a notification, in this order:
 * https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
 */
const NOTIFICATION = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
/** The signed fields of other messages, in this order. */
const CONFIRMATION = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
/** The fields that are signed in both kinds. */
export const SNS_SIGNED = NOTIFICATION.filter((name) => CONFIRMATION.includes(name))
const HASHES: Record<string, string> = { 1: 'sha1', 2: 'sha256' }
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[\w-]{1,80}\.pem$/

/**
 * Creates the verifier for SNS. Accepts only certificates from Amazon's own host for the region of
 * the topic.
 */
export function createSnsVerifier(options: SnsOptions, deps: VerifierDeps): Verifier {
  const { gateway, now, log } = deps
  const certificateAt = createCertificates(deps)
  return {
    async check({ raw }) {
      const message = readMessage(raw)
      if (!message) return 'it is not a message of SNS; is raw message delivery on for the subscription?'
      const fieldOf = (name: string) => textAt(message, name) ?? ''
      const topic = fieldOf('TopicArn')
      if (!options.topic.includes(topic)) return 'it belongs to another topic'
      const algorithm = HASHES[fieldOf('SignatureVersion')]
      if (algorithm === undefined) return 'its SignatureVersion is neither 1 nor 2'
      const address = attempt(() => new URL(fieldOf('SigningCertURL')))
      if (!address || !isAmazon(address, topic) || !CERTIFICATE_PATH.test(pathOf(address)))
        return 'its SigningCertURL is not an address of SNS in the region of the topic'
      const certificate = await certificateAt(address)
      if (!isCurrent(certificate, now())) return 'the certificate of its signature is not valid now'
      const names = fieldOf('Type') === 'Notification' ? NOTIFICATION : CONFIRMATION
      const signed = names.flatMap((name) => (typeof message[name] === 'string' ? [name, message[name]] : []))
      const text = Buffer.from(signed.map((line) => `${line}\n`).join(''))
      const signature = Buffer.from(fieldOf('Signature'), 'base64')
      const isValid = attempt(() => verify(algorithm, text, certificate.publicKey, signature))
      if (!isValid) return 'its signature does not match'
      const difference = Math.abs(now() - Date.parse(fieldOf('Timestamp')))
      return difference <= options.tolerance
        ? undefined
        : `its time is ${Math.round(difference / 1000)} s away from now; check the clock`
    },
    /** Confirms a subscription to a topic of this gateway, at Amazon's own host. */
    async handshake(raw) {
      const message = readMessage(raw) ?? {}
      const type = textAt(message, 'Type')
      const topic = textAt(message, 'TopicArn') ?? ''
      if (type === 'UnsubscribeConfirmation') {
        log.warn({ topic }, 'an SNS subscription ended')
        return json({ unsubscribed: topic })
      }
      if (type !== 'SubscriptionConfirmation' || !options.confirm) return undefined
      const address = attempt(() => new URL(textAt(message, 'SubscribeURL') ?? ''))
      const query = address?.searchParams
      const isOurs = query?.get('Action') === 'ConfirmSubscription' && query.get('TopicArn') === topic
      if (!address || !isAmazon(address, topic) || !isOurs)
        throw new TriviumError('signature_invalid', {
          gateway,
          reason: 'its SubscribeURL is not an address of SNS',
        })
      await requestFrom(address, gateway)
      log.info({ topic }, 'an SNS subscription was confirmed')
      return json({ confirmed: topic })
    },
  }
}

/** The path with query and hash: each different URL would be another certificate to fetch. */
function pathOf({ pathname, search, hash }: URL): string {
  return pathname + search + hash
}

function readMessage(raw: Buffer): JsonObject | undefined {
  const message = parseForeignJson(raw.toString())
  return isJsonObject(message) && typeof message.Signature === 'string' ? message : undefined
}

/** Whether a URL belongs to SNS in the region of a topic (`arn:PARTITION:sns:REGION:…`). */
function isAmazon({ protocol, host, username, password }: URL, topic: string): boolean {
  const [, partition = '', , region = ''] = topic.split(':')
  const end = partition === 'aws-cn' ? 'amazonaws.com.cn' : 'amazonaws.com'
  return protocol === 'https:' && host === `sns.${region}.${end}` && username + password === ''
}
