import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { emailOptions, foldersOf } from '../../../transports/email/options.ts'

const server = { host: 'mail.example.com' }
const BASE = { address: 'support@example.com', imap: server, smtp: server }

/** The options with a problem, if `more` is added to a complete configuration. */
const faultyOptions = (more: object) => {
  const parsed = emailOptions.safeParse({ ...BASE, ...more })
  return parsed.error?.issues.map(({ path }) => path.join('.')) ?? []
}

describe('options of an email gateway', () => {
  test('refuse a `max-silence` that is not longer than `sweep`', () => {
    assert.deepEqual(faultyOptions({ sweep: '5m', 'max-silence': '5m' }), ['max-silence'])
    assert.deepEqual(faultyOptions({ 'max-silence': '30s' }), ['max-silence'])
    assert.deepEqual(faultyOptions({ sweep: '5m', 'max-silence': '6m' }), [])
    assert.deepEqual(faultyOptions({ sweep: '10m' }), [], 'the default follows `sweep`')
  })

  test('name the options that `inbound` and `outbound` need, and those that they exclude', () => {
    const verify = { scheme: 'basic', user: 'postmark', secret: 'a-secret' }
    const webhook = { provider: 'postmark', path: '/mail', verify }
    assert.deepEqual(faultyOptions({ imap: undefined, smtp: undefined }), ['imap', 'smtp'])
    assert.deepEqual(faultyOptions({ webhook }), ['webhook'])
    assert.deepEqual(faultyOptions({ inbound: 'webhook', quarantine: 'Refused', after: 'seen' }), [
      'webhook',
      'quarantine',
      'after',
    ])
    assert.deepEqual(faultyOptions({ outbound: 'api' }), ['api'])
    assert.deepEqual(faultyOptions({ handover: 'on-human-reply' }), ['handover'])
  })

  test('read each folder once', () => {
    const folders = ['inbox', 'Work', 'INBOX', 'Work', 'work']
    assert.deepEqual(foldersOf(emailOptions.parse({ ...BASE, folders })), ['INBOX', 'Work', 'work'])
    const sent = { folder: 'Sent' }
    const more = { sent, folders: ['INBOX', 'Sent'] }
    assert.deepEqual(faultyOptions(more), [])
    assert.deepEqual(faultyOptions({ ...more, handover: 'on-human-reply' }), ['handover'])
  })
})
