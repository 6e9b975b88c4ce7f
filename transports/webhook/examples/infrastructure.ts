import { type ProviderExample, variable } from './example.ts'

/** Clouds, alerts, sign-in and databases. */
export const INFRASTRUCTURE: readonly ProviderExample[] = [
  {
    id: 'alertmanager',
    name: 'Alertmanager',
    verify: {
      scheme: 'bearer',
    },
    secret: 'you choose it: `http_config`, `authorization`, `credentials`',
    options: {
      split: 'data.body.alerts',
      key: ['fingerprint', 'status', 'startsAt'],
      event: 'status',
      conversation: 'fingerprint',
    },
    exampleEvent: 'firing',
    note: 'alertmanager-and-grafana',
    docs: 'https://prometheus.io/docs/alerting/latest/configuration/#webhook_config',
  },
  {
    id: 'sns',
    name: 'Amazon SNS',
    also: ['amazon-sns', 'aws-sns'],
    variables: { SNS_TOPIC: 'the ARN of the topic, `arn:aws:sns:REGION:ACCOUNT:NAME`' },
    isCompared: true,
    verify: {
      scheme: 'sns',
      topic: variable('SNS_TOPIC'),
    },
    exampleEvent: 'Notification',
    notes: ['confirms the subscription'],
    note: 'amazon-sns',
    docs: 'https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html',
  },
  {
    id: 'azure-event-grid',
    name: 'Azure Event Grid',
    verify: {
      scheme: 'query',
      name: 'code',
    },
    secret: 'you choose it: `?code=SECRET`',
    options: {
      challenge: {
        at: 'data.body.0.data.validationCode',
        answer: {
          validationResponse: '{value}',
        },
      },
      split: 'data.body',
      key: ['topic', 'id'],
      event: 'eventType',
      conversation: 'subject',
    },
    exampleEvent: 'Microsoft.Storage.BlobCreated',
    docs: 'https://learn.microsoft.com/azure/event-grid/end-point-validation-event-grid-events-schema',
  },
  {
    id: 'clerk',
    name: 'Clerk',
    isCompared: true,
    verify: {
      scheme: 'standard-webhooks',
    },
    secret: '*Signing Secret* of the endpoint (`whsec_…`)',
    exampleEvent: 'user.created',
    docs: 'https://clerk.com/docs/webhooks/overview',
  },
  {
    id: 'cloudflare',
    name: 'Cloudflare Logpush',
    also: ['logpush'],
    verify: {
      scheme: 'header',
      header: 'X-Logpush-Secret',
    },
    secret: 'you choose it: `?header_X-Logpush-Secret=SECRET` in the destination',
    options: {
      body: 'ndjson',
      split: 'data.body',
    },
    marks: ['no id'],
    docs: 'https://developers.cloudflare.com/logs/get-started/enable-destinations/http',
  },
  {
    id: 'fastly',
    name: 'Fastly',
    second: {
      suffix: 'challenge',
      path: '/.well-known/fastly/logging/challenge',
      options: { challenge: { at: 'header.host', answer: '*' } },
    },
    verify: {
      scheme: 'header',
      header: 'X-Log-Secret',
    },
    secret: 'you choose it: *Custom header* of the HTTPS endpoint',
    options: {
      body: 'ndjson',
      split: 'data.body',
    },
    marks: ['no id'],
    note: 'fastly',
    readFirst: true,
    docs: 'https://www.fastly.com/documentation/guides/integrations/logging-endpoints/log-streaming-https',
  },
  {
    id: 'pubsub',
    name: 'Google Pub/Sub',
    also: ['google-pub-sub'],
    variables: {
      PUBSUB_ACCOUNT: 'the service account of the push subscription, `NAME@PROJECT.iam.gserviceaccount.com`',
    },
    verify: {
      scheme: 'jwt',
      jwks: 'https://www.googleapis.com/oauth2/v3/certs',
      issuer: 'https://accounts.google.com',
      audience: 'https://HOST/PATH',
      claims: {
        email: variable('PUBSUB_ACCOUNT'),
        email_verified: true,
      },
    },
    options: {
      key: ['data.body.subscription', 'data.body.message.messageId'],
      conversation: 'data.body.message.orderingKey',
    },
    marks: ['sender not verified'],
    note: 'google-pubsub',
    docs: 'https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions',
  },
  {
    id: 'grafana',
    name: 'Grafana',
    verify: {
      scheme: 'bearer',
    },
    secret: 'you choose it: *Authorization Header*, *Credentials* of the contact point',
    options: {
      split: 'data.body.alerts',
      key: ['fingerprint', 'status', 'startsAt'],
      event: 'status',
      conversation: 'fingerprint',
    },
    exampleEvent: 'firing',
    note: 'alertmanager-and-grafana',
    docs: 'https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier',
  },
  {
    id: 'microsoft-graph',
    name: 'Microsoft Graph',
    verify: {
      scheme: 'microsoft-graph',
    },
    secret: 'you choose it: `clientState` of the subscriptions, which is removed from messages',
    exampleEvent: 'created',
    marks: ['split'],
    notes: ['no id if a notification has no `id`', 'answers `validationToken`'],
    docs: 'https://learn.microsoft.com/graph/change-notifications-delivery-webhooks',
  },
  {
    id: 'okta',
    name: 'Okta',
    verify: {
      scheme: 'header',
      header: 'Authorization',
    },
    secret: 'you choose it: *Authentication secret* of the hook, with *Authentication field* `Authorization`',
    options: {
      challenge: {
        at: 'header.X-Okta-Verification-Challenge',
        answer: {
          verification: '{value}',
        },
      },
      split: 'data.body.data.events',
      key: 'uuid',
      event: 'eventType',
    },
    exampleEvent: 'user.lifecycle.create',
    docs: 'https://developer.okta.com/docs/concepts/event-hooks',
  },
  {
    id: 'pagerduty',
    name: 'PagerDuty',
    verify: {
      scheme: 'pagerduty',
    },
    secret: 'secret of the subscription, shown once',
    exampleEvent: 'incident.triggered',
    docs: 'https://developer.pagerduty.com/docs/verifying-webhook-signatures',
  },
  {
    id: 'segment',
    name: 'Segment',
    verify: {
      scheme: 'hmac',
      header: 'X-Signature',
      algorithm: 'sha1',
    },
    secret: 'you choose it: *Shared Secret*',
    options: {
      key: 'data.body.messageId',
      from: 'data.body.userId',
      conversation: 'data.body.userId',
    },
    exampleEvent: 'track',
    docs: 'https://segment.com/docs/connections/destinations/catalog/webhooks',
  },
  {
    id: 'supabase-auth',
    name: 'Supabase (Auth Hooks)',
    also: ['supabase'],
    isCompared: true,
    verify: {
      scheme: 'standard-webhooks',
    },
    secret: 'secret of the hook (`v1,whsec_…`)',
    note: 'supabase',
    docs: 'https://supabase.com/docs/guides/auth/auth-hooks',
  },
  {
    id: 'supabase-database',
    name: 'Supabase (Database Webhooks)',
    verify: {
      scheme: 'bearer',
    },
    secret: 'you choose it: *HTTP Headers*, `Authorization` with the value `Bearer SECRET`',
    exampleEvent: 'INSERT',
    marks: ['no id'],
    note: 'supabase',
    docs: 'https://supabase.com/docs/guides/database/webhooks',
  },
  {
    id: 'uptime-kuma',
    name: 'Uptime Kuma',
    verify: {
      scheme: 'header',
      header: 'X-Kuma-Secret',
    },
    secret: 'you choose it: *Additional Headers*, `{ "X-Kuma-Secret": "SECRET" }`',
    options: {
      body: 'form.data',
      conversation: 'data.body.heartbeat.monitorID',
    },
    marks: ['no id'],
    docs: 'https://github.com/louislam/uptime-kuma/wiki/Notification-Methods',
  },
  {
    id: 'workos',
    name: 'WorkOS',
    isCompared: true,
    verify: {
      scheme: 'workos',
    },
    secret: 'secret of the endpoint',
    exampleEvent: 'user.created',
    docs: 'https://workos.com/docs/events/data-syncing/webhooks',
  },
]
