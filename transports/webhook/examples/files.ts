import { type ProviderExample, variable } from './example.ts'

/** Files, media, forms and sports. */
export const FILES: readonly ProviderExample[] = [
  {
    id: 'box',
    name: 'Box',
    isCompared: true,
    verify: {
      scheme: 'hmac',
      header: 'Box-Signature-Primary',
      encoding: 'base64',
      'timestamp-header': 'Box-Delivery-Timestamp',
      template: '{body}{timestamp}',
      tolerance: '10m',
    },
    secret: '*Primary Key* of the app',
    options: {
      key: 'data.body.id',
      event: 'data.body.trigger',
      from: 'data.body.created_by.id',
      conversation: 'data.body.source.id',
    },
    exampleEvent: 'FILE.UPLOADED',
    docs: 'https://developer.box.com/guides/webhooks/v2/signatures-v2',
  },
  {
    id: 'cloudinary',
    name: 'Cloudinary',
    isCompared: true,
    verify: {
      scheme: 'hash',
      header: 'X-Cld-Signature',
      algorithm: 'sha1',
      'timestamp-header': 'X-Cld-Timestamp',
      template: '{body}{timestamp}{secret}',
      tolerance: '2h',
    },
    secret: '*API Secret* of the account',
    options: {
      event: 'data.body.notification_type',
      conversation: 'data.body.public_id',
    },
    exampleEvent: 'upload',
    marks: ['no id'],
    docs: 'https://cloudinary.com/documentation/notifications',
  },
  {
    id: 'docusign',
    name: 'DocuSign',
    verify: {
      scheme: 'hmac',
      header: 'X-DocuSign-Signature-1',
      encoding: 'base64',
    },
    secret: '*HMAC key* of Connect',
    options: {
      key: ['data.body.event', 'data.body.data.envelopeId', 'data.body.generatedDateTime'],
      answer: {
        status: 200,
      },
      conversation: 'data.body.data.envelopeId',
    },
    exampleEvent: 'envelope-completed',
    docs: 'https://developers.docusign.com/platform/webhooks/connect/hmac',
  },
  {
    id: 'dropbox',
    name: 'Dropbox',
    verify: {
      scheme: 'hmac',
      header: 'X-Dropbox-Signature',
    },
    secret: '*App secret*',
    options: {
      challenge: {
        at: 'query.challenge',
      },
    },
    marks: ['no id'],
    docs: 'https://www.dropbox.com/developers/reference/webhooks',
  },
  {
    id: 'dropbox-sign',
    name: 'Dropbox Sign',
    also: ['hellosign'],
    isCompared: true,
    verify: {
      scheme: 'hmac',
      field: 'event.event_hash',
      template: '{body.event.event_time}{body.event.event_type}',
    },
    secret: '*API key*',
    options: {
      body: 'form.json',
      key: '#',
      answer: 'Hello API Event Received',
      event: 'data.body.event.event_type',
      conversation: 'data.body.signature_request.signature_request_id',
    },
    exampleEvent: 'signature_request_signed',
    marks: ['id is a hash', 'sender not verified'],
    note: 'dropbox-sign',
    docs: 'https://developers.hellosign.com/docs/events/overview',
  },
  {
    id: 'mux',
    name: 'Mux',
    isCompared: true,
    verify: {
      scheme: 'hmac',
      header: 'Mux-Signature',
      prefix: 'v1=',
      'timestamp-prefix': 't=',
      template: '{timestamp}.{body}',
    },
    secret: '*Signing Secret* of the webhook',
    options: {
      key: 'data.body.id',
      conversation: 'data.body.object.id',
    },
    exampleEvent: 'video.asset.ready',
    docs: 'https://www.mux.com/docs/core/verify-webhook-signatures',
  },
  {
    id: 'plex',
    name: 'Plex',
    verify: {
      scheme: 'query',
      name: 'code',
    },
    secret: 'you choose it: `?code=SECRET`',
    options: {
      event: 'data.body.event',
      from: 'data.body.Account.id',
      conversation: 'data.body.Player.uuid',
    },
    exampleEvent: 'media.play',
    marks: ['no id'],
    docs: 'https://support.plex.tv/articles/115002267687-webhooks',
  },
  {
    id: 'strava',
    name: 'Strava',
    variables: {
      STRAVA_VERIFY_TOKEN: 'you choose it, and send it as `verify_token` when you create the subscription',
    },
    verify: {
      scheme: 'query',
      name: 'code',
    },
    secret: 'you choose it: `?code=SECRET`',
    options: {
      challenge: {
        at: 'query.hub.challenge',
        when: {
          'query.hub.verify_token': variable('STRAVA_VERIFY_TOKEN'),
        },
        answer: {
          'hub.challenge': '{value}',
        },
      },
      event: 'data.body.aspect_type',
      from: 'data.body.owner_id',
      conversation: 'data.body.object_id',
      answer: { status: 200 },
    },
    exampleEvent: 'create',
    marks: ['no id'],
    docs: 'https://developers.strava.com/docs/webhooks',
  },
  {
    id: 'tally',
    name: 'Tally',
    verify: {
      scheme: 'hmac',
      header: 'Tally-Signature',
      encoding: 'base64',
    },
    secret: '*Signing secret* of the webhook',
    options: {
      key: 'data.body.eventId',
      event: 'data.body.eventType',
    },
    exampleEvent: 'FORM_RESPONSE',
    docs: 'https://tally.so/help/webhooks',
  },
  {
    id: 'twitch',
    name: 'Twitch EventSub',
    verify: {
      scheme: 'hmac',
      header: 'Twitch-Eventsub-Message-Signature',
      prefix: 'sha256=',
      'timestamp-header': 'Twitch-Eventsub-Message-Timestamp',
      template: '{header.Twitch-Eventsub-Message-Id}{timestamp}{body}',
      tolerance: '10m',
    },
    secret: 'you choose it: `transport.secret` of the subscription',
    options: {
      key: 'header.twitch-eventsub-message-id',
      challenge: {
        at: 'data.body.challenge',
      },
      event: 'header.twitch-eventsub-subscription-type',
    },
    exampleEvent: 'channel.follow',
    note: 'twitch-eventsub',
    docs: 'https://dev.twitch.tv/docs/eventsub/handling-webhook-events',
  },
  {
    id: 'typeform',
    name: 'Typeform',
    verify: {
      scheme: 'typeform',
    },
    secret: 'you choose it: *Secret*',
    exampleEvent: 'form_response',
    docs: 'https://www.typeform.com/developers/webhooks/secure-your-webhooks',
  },
]
