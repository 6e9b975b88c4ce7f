import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { KEY } from '../../../fixtures/sns-signing.ts'
import { NOW, type Sample } from './sample.ts'

export const TOPIC = 'arn:aws:sns:us-east-1:123456789012:MyTopic'
export const CERTIFICATE_URL =
  'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem'
export const SUBSCRIBE_URL = `https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${TOPIC}&Token=abc`

type Message = Record<string, string>

const NOTIFICATION: Message = {
  Type: 'Notification',
  MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
  TopicArn: TOPIC,
  Subject: 'My First Message',
  Message: '{"default":"Hello"}\nworld',
  Timestamp: new Date(NOW).toISOString(),
  SigningCertURL: CERTIFICATE_URL,
  UnsubscribeURL: 'https://sns.us-east-1.amazonaws.com/?Action=Unsubscribe&SubscriptionArn=x',
}

const CONFIRMATION: Message = {
  Type: 'SubscriptionConfirmation',
  MessageId: '165545c9-2a5c-472c-8df2-7ff2be2b3b1b',
  Token: 'abc',
  TopicArn: TOPIC,
  Message: 'You have chosen to subscribe to the topic.',
  SubscribeURL: SUBSCRIBE_URL,
  Timestamp: new Date(NOW).toISOString(),
  SigningCertURL: CERTIFICATE_URL,
}

/**
 * A message as Amazon signs it:
 * https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
 */
export function signed(changes: Message = {}, version: '1' | '2' = '2'): Message {
  const message: Message = { ...(changes.Type === undefined ? NOTIFICATION : CONFIRMATION), ...changes }
  const names = message.Type === 'Notification' ? [] : ['SubscribeURL', 'Token']
  const text = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type', ...names]
    .sort()
    .flatMap((name) => (message[name] === undefined ? [] : [`${name}\n${message[name]}\n`]))
    .join('')
  const Signature = sign(version === '1' ? 'sha1' : 'sha256', Buffer.from(text), KEY).toString('base64')
  return { ...message, SignatureVersion: version, Signature }
}

export const SNS_SAMPLE: Sample = {
  userOptions: { topic: TOPIC },
  comparedWith: 'sns-validator, in sns.test.ts',
  body: signed(),
  type: 'text/plain; charset=UTF-8',
  sign: () => ({ 'x-amz-sns-message-type': 'Notification' }),
  async handshake({ post }) {
    const { status, text } = await post(JSON.stringify(signed({ Type: 'SubscriptionConfirmation' })))
    assert.deepEqual([status, JSON.parse(text)], [200, { confirmed: TOPIC }])
  },
}
