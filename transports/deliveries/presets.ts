import { createHmac } from 'node:crypto'
import { escapeUTF8 } from 'entities/escape'
import { type Json, pathGet } from '../../src/core/json.ts'
import { createSecretCheck } from '../../src/lib/secrets.ts'
import { type Scheme, SLACK } from '../../src/lib/signatures.ts'
import { ed25519Key, publicKey, standardKey } from '../keys.ts'
import { HMAC_PRESETS } from './hmac-presets.ts'
import { LARK } from './lark.ts'
import { valueAt } from './pointers.ts'
import { type AcceptedDelivery, type Answer, json, type Preset, plain } from './preset.ts'
import { GRAPH_SPLIT, META_SPLIT, SENDGRID_SPLIT } from './split-presets.ts'
import { twilioVariants } from './twilio.ts'

/** The sender of a delivery of Meta that is not split. */
const META_PERSON = [
  'entry.*.messaging.*.sender.id',
  'entry.*.changes.*.value.messages.*.from',
  'entry.*.changes.*.value.messages.*.from_user_id',
].join(' ')

const TELEGRAM_CHAT = '*.chat.id *.message.chat.id'

/** The providers with a preset. */
export const PRESETS = {
  /** https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks */
  bitbucket: {
    signature: [{ header: 'x-hub-signature', prefix: 'sha256=' }],
    key: 'header.x-request-uuid',
    from: 'actor.account_id actor.uuid actor.name',
  },
  /**
   * https://docs.discord.com/developers/interactions/overview and …/events/webhook-events (`type` 0
   * is their ping)
   */
  discord: {
    signature: [timed('x-signature-ed25519', 'x-signature-timestamp', 'hex')],
    keyOf: ed25519Key,
    key: 'id #',
    event: 'event.type data.name data.custom_id',
    from: 'member.user.id user.id event.data.user.id',
    conversation: 'channel_id',
    handshake(body) {
      const type = pathGet(body, 'type')
      if (type === 0) return { status: 204 }
      return type === 1 && pathGet(body, 'event') === undefined ? json({ type }) : undefined
    },
    answer: answerDiscord,
  },
  /**
   * https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries, also Gitea's and
   * Forgejo's
   */
  github: { signature: [{ header: 'x-hub-signature-256', prefix: 'sha256=' }] },
  /** https://docs.gitlab.com/user/project/integrations/webhooks */
  gitlab: { header: 'x-gitlab-token' },
  lark: LARK,
  /**
   * https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks: only the
   * token is signed
   */
  mailgun: {
    signature: [mailgun('signature.'), mailgun('')],
    key: 'signature.token token',
    event: 'event-data.event',
    from: 'sender event-data.recipient',
    answer: json,
  },
  /**
   * https://developers.facebook.com/docs/graph-api/webhooks/getting-started: Facebook, Instagram,
   * WhatsApp
   */
  meta: {
    signature: [{ header: 'x-hub-signature-256', prefix: 'sha256=' }],
    split: META_SPLIT,
    key: '#',
    event: 'entry.*.changes.*.field object',
    from: META_PERSON,
    conversation: META_PERSON,
    greet(method, query, { 'verify-token': token = '' }) {
      if (method !== 'GET') return undefined
      // The check returns the index of the secret that matches.
      const isOurs = createSecretCheck([token])(query.get('hub.verify_token') ?? '') === 0
      return isOurs
        ? plain(query.get('hub.challenge') ?? '')
        : 'its hub.verify_token differs from verify-token of the gateway'
    },
    answer: json,
  },
  /** https://learn.microsoft.com/graph/change-notifications-delivery-webhooks */
  'microsoft-graph': {
    inBody: 'clientState',
    split: GRAPH_SPLIT,
    key: 'value.+.id',
    event: 'value.*.changeType value.*.lifecycleEvent',
    from: 'value.*.tenantId',
    greet(method, query) {
      const token = query.get('validationToken')
      return method === 'POST' && token !== null ? plain(token) : undefined
    },
  },
  /**
   * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
   */
  sendgrid: {
    signature: [
      timed('x-twilio-email-event-webhook-signature', 'x-twilio-email-event-webhook-timestamp', 'base64'),
    ],
    keyOf: publicKey,
    split: SENDGRID_SPLIT,
    key: '+.sg_event_id #',
    event: '*.event',
  },
  /** https://docs.sentry.io/organization/integrations/integration-platform/webhooks */
  sentry: { signature: [{ header: 'sentry-hook-signature' }] },
  /** https://shopify.dev/docs/apps/build/webhooks/subscribe/https */
  shopify: {
    signature: [{ header: 'x-shopify-hmac-sha256', encoding: 'base64' }],
    from: 'header.x-shopify-shop-domain',
  },
  /**
   * https://docs.slack.dev/reference/events/url_verification; for commands and clicks, `trigger_id`
   * is the only id.
   */
  slack: {
    signature: [SLACK],
    key: (delivery) =>
      pathGet(delivery.body, 'event_id')
        ? `${valueAt('team_id', delivery) ?? ''}:${valueAt('event_id', delivery)}`
        : valueAt('trigger_id', delivery),
    event: 'event.type',
    handshake(body) {
      const challenge = pathGet(body, 'challenge')
      return pathGet(body, 'type') === 'url_verification' && typeof challenge === 'string'
        ? json({ challenge })
        : undefined
    },
  },
  /** https://developer.squareup.com/docs/webhooks/step3validate */
  square: {
    signature: [{ header: 'x-square-hmacsha256-signature', encoding: 'base64', template: '{url}{body}' }],
    key: 'event_id',
    from: 'merchant_id',
  },
  /**
   * https://github.com/standard-webhooks/standard-webhooks, with the older `svix-` names of the
   * same headers
   */
  'standard-webhooks': {
    signature: [standardWebhooks('webhook'), standardWebhooks('svix')],
    keyOf: standardKey,
    key: (delivery) =>
      valueAt(
        `header.${delivery.headers['webhook-signature'] === undefined ? 'svix' : 'webhook'}-id`,
        delivery,
      ),
  },
  /** https://docs.stripe.com/webhooks#verify-manually */
  stripe: {
    signature: [
      { header: 'stripe-signature', prefix: 'v1=', time: { prefix: 't=' }, template: '{timestamp}.{body}' },
    ],
    key: 'id',
    from: 'account',
  },
  /**
   * https://core.telegram.org/bots/api#setwebhook; besides its id, an update has one field, named
   * after its kind.
   */
  telegram: {
    header: 'x-telegram-bot-api-secret-token',
    key: 'update_id',
    event: ({ body }) => Object.keys(Object(body)).find((name) => name !== 'update_id'),
    from: '*.from.id *.sender_chat.id',
    conversation: TELEGRAM_CHAT,
    answer: answerTelegram,
  },
  /** https://www.twilio.com/docs/usage/security#validating-requests */
  twilio: {
    signature: [{ header: 'x-twilio-signature', algorithm: 'sha1', encoding: 'base64', template: '{url}' }],
    signedVariants: twilioVariants,
    isBodyInUrl: true,
    // CallSid is no key: each step of a call has the same one.
    key(delivery) {
      const status = valueAt('MessageStatus SmsStatus', delivery)
      const id = status && valueAt('MessageSid SmsSid', delivery)
      return id ? `${id} ${status}` : valueAt('+.id header.i-twilio-idempotency-token', delivery)
    },
    event: 'EventType MessageStatus SmsStatus CallStatus *.type',
    from: 'From Author',
    conversation: ({ body, ...rest }) =>
      valueAt(`ConversationSid CallSid ${pathGet(body, 'MessageStatus') ? 'To' : 'From'}`, { body, ...rest }),
    answer: answerTwilio,
  },
  /** https://www.typeform.com/developers/webhooks/secure-your-webhooks */
  typeform: {
    signature: [{ header: 'typeform-signature', prefix: 'sha256=', encoding: 'base64' }],
    key: 'event_id',
    event: 'event_type',
  },
  /**
   * https://developer.zendesk.com/documentation/webhooks/verifying; the body of a trigger is
   * defined by the user.
   */
  zendesk: {
    signature: [timed('x-zendesk-webhook-signature', 'x-zendesk-webhook-signature-timestamp', 'base64')],
    key(delivery) {
      const isEvent = valueAt('type', delivery)?.startsWith('zen:')
      return valueAt(isEvent ? 'id' : 'header.x-zendesk-webhook-invocation-id', delivery)
    },
  },
  ...HMAC_PRESETS,
  /** https://developers.zoom.us/docs/api/webhooks */
  zoom: {
    signature: [{ ...SLACK, header: 'x-zm-signature', time: { header: 'x-zm-request-timestamp' } }],
    key: '#',
    handshake(body, { secret: [secret = ''] }) {
      const plainToken = pathGet(body, 'payload.plainToken')
      if (pathGet(body, 'event') !== 'endpoint.url_validation' || typeof plainToken !== 'string')
        return undefined
      return json({
        plainToken,
        encryptedToken: createHmac('sha256', secret).update(plainToken).digest('hex'),
      })
    },
    answer: json,
  },
} satisfies Record<string, Preset>

function timed(header: string, timeHeader: string, encoding: 'hex' | 'base64'): Scheme {
  return { header, time: { header: timeHeader }, encoding, template: '{timestamp}{body}' }
}

/**
 * Deliveries of a subaccount are signed with the key of the main account too. Time and token are
 * joined without a separator, so the number of digits is fixed. Otherwise, the first digits of a
 * captured token could be moved to the end of the time: the signature still fits, but the key of
 * the delivery is a new one.
 */
function mailgun(path: string): Scheme {
  const time = { field: `${path}timestamp`, digits: 10 }
  return {
    field: `${path}signature ${path}parent-signature`,
    time,
    template: `{timestamp}{body.${path}token}`,
  }
}

function standardWebhooks(family: string): Scheme {
  return {
    header: `${family}-signature`,
    prefix: 'v1,',
    encoding: 'base64',
    time: { header: `${family}-timestamp` },
    template: `{header.${family}-id}.{timestamp}.{body}`,
  }
}

/** Types of Discord's interactions. */
const INTERACTION = { click: 3, autocomplete: 4 }
/** Types of the responses to interactions. */
const RESPONSE = { message: 4, pendingMessage: 5, pendingUpdate: 6, choices: 8 }
/** Longer texts are rejected: the answer would be lost. */
const MAX_TEXT = { discord: 2_000, telegram: 4_096, twilio: 1_600 }

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text
}

/**
 * https://docs.discord.com/developers/interactions/receiving-and-responding: without a reply, the
 * user of a command sees a pending state until a follow-up is sent with the `token` of the
 * interaction. A click shows no pending state.
 */
function answerDiscord({ reply }: AcceptedDelivery, body: Json | undefined): Answer {
  if (pathGet(body, 'event') !== undefined) return { status: 204 }
  const type = pathGet(body, 'type')
  if (type === INTERACTION.autocomplete) return json({ type: RESPONSE.choices, data: { choices: [] } })
  if (reply !== undefined)
    return json({ type: RESPONSE.message, data: { content: cut(reply, MAX_TEXT.discord) } })
  return json({ type: type === INTERACTION.click ? RESPONSE.pendingUpdate : RESPONSE.pendingMessage })
}

/** https://core.telegram.org/bots/api#making-requests-when-getting-updates */
function answerTelegram({ reply }: AcceptedDelivery, body: Json | undefined): Answer | undefined {
  const chat = reply === undefined ? undefined : valueAt(TELEGRAM_CHAT, { headers: {}, body, text: '' })
  if (reply === undefined || chat === undefined) return undefined
  return json({ method: 'sendMessage', chat_id: chat, text: cut(reply, MAX_TEXT.telegram) })
}

/** TwiML, for messages and calls. https://www.twilio.com/docs/messaging/twiml */
function answerTwilio({ reply }: AcceptedDelivery, body: Json | undefined): Answer {
  const isCall = pathGet(body, 'CallSid') !== undefined
  const verb = isCall ? 'Say' : 'Message'
  const said = reply === undefined || isCall ? reply : cut(reply, MAX_TEXT.twilio)
  const content = said === undefined ? '' : `<${verb}>${escapeUTF8(said)}</${verb}>`
  const text = `<?xml version="1.0" encoding="UTF-8"?><Response>${content}</Response>`
  return { status: 200, type: 'text/xml', text }
}
