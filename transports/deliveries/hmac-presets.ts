import { pathGet } from '../../src/core/json.ts'
import { json, type Preset } from './preset.ts'
import { HUBSPOT_SPLIT } from './split-presets.ts'

/** Providers that only need an HMAC, and the places of the values in a delivery. */
export const HMAC_PRESETS = {
  /**
   * https://developer.calendly.com/api-docs/overview/webhooks/webhook-signatures; deliveries have
   * no id.
   */
  calendly: {
    signature: [
      {
        header: 'calendly-webhook-signature',
        prefix: 'v1=',
        time: { prefix: 't=' },
        template: '{timestamp}.{body}',
      },
    ],
    key: '#',
    event: 'event',
    from: 'payload.email created_by',
  },
  /**
   * https://dev.frontapp.com/docs/application-webhooks: a webhook is only saved if the challenge is
   * returned.
   */
  front: {
    signature: [
      {
        header: 'x-front-signature',
        encoding: 'base64',
        time: { header: 'x-front-request-timestamp' },
        template: '{timestamp}:{body}',
      },
    ],
    key: 'payload.id',
    event: 'type',
    conversation: 'payload.conversation.id',
    handshake(body, _, { 'x-front-challenge': challenge }) {
      return pathGet(body, 'type') === 'sync' && challenge !== undefined ? json({ challenge }) : undefined
    },
  },
  /**
   * https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation,
   * version 3
   */
  hubspot: {
    signature: [
      {
        header: 'x-hubspot-signature-v3',
        encoding: 'base64',
        time: { header: 'x-hubspot-request-timestamp' },
        template: '{method}{url}{body}{timestamp}',
      },
    ],
    signedVariants: (request) => [request, { ...request, url: partlyDecoded(request.url ?? '') }],
    split: HUBSPOT_SPLIT,
    key: '+.eventId #',
    event: '*.subscriptionType',
    from: '*.portalId',
  },
  /**
   * https://developers.intercom.com/docs/webhooks/setting-up-webhooks: signed with the client
   * secret of the app.
   */
  intercom: {
    signature: [{ header: 'x-hub-signature', prefix: 'sha1=', algorithm: 'sha1' }],
    key: 'id',
    event: 'topic',
    from: 'app_id',
  },
  /** https://linear.app/developers/webhooks: the time is in the signed body. */
  linear: {
    signature: [{ header: 'linear-signature', time: { field: 'webhookTimestamp' } }],
    key: 'header.linear-delivery',
    event: 'header.linear-event type',
    from: 'actor.id actor.name',
  },
  /** https://developer.paddle.com/webhooks/signature-verification */
  paddle: {
    signature: [
      { header: 'paddle-signature', prefix: 'h1=', time: { prefix: 'ts=' }, template: '{timestamp}:{body}' },
    ],
    key: 'event_id',
    event: 'event_type',
    from: 'data.customer_id',
  },
  /**
   * https://developer.pagerduty.com/docs/verifying-webhook-signatures: during a rotation of the
   * secret there are two signatures.
   */
  pagerduty: {
    signature: [{ header: 'x-pagerduty-signature', prefix: 'v1=' }],
    key: 'event.id',
    event: 'event.event_type',
    from: 'event.agent.id',
    conversation: 'event.data.id',
  },
  /**
   * https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks: the signed URL is the
   * one given when the webhook was created.
   */
  trello: {
    signature: [
      { header: 'x-trello-webhook', algorithm: 'sha1', encoding: 'base64', template: '{body}{url}' },
    ],
    key: 'action.id',
    event: 'action.type',
    from: 'action.memberCreator.id',
    conversation: 'model.id',
  },
  /** https://workos.com/docs/events/data-syncing/webhooks: the time is in milliseconds. */
  workos: {
    signature: [
      { header: 'workos-signature', prefix: 'v1=', time: { prefix: 't=' }, template: '{timestamp}.{body}' },
    ],
    key: 'id',
    event: 'event',
    from: 'data.user_id',
  },
} satisfies Record<string, Preset>

/** HubSpot signs the URL with these characters decoded: `:/?@!$'()*,;`. */
function partlyDecoded(url: string): string {
  return url.replaceAll(/%(3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, (code) => decodeURIComponent(code))
}
