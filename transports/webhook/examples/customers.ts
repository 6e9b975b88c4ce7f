import type { ProviderExample } from './example.ts'

/** Email services, support, sales and appointments. */
export const CUSTOMERS: readonly ProviderExample[] = [
  {
    id: 'cal-com',
    name: 'Cal.com',
    verify: {
      scheme: 'hmac',
      header: 'X-Cal-Signature-256',
    },
    secret: 'you choose it: *Secret*',
    options: {
      event: 'data.body.triggerEvent',
      conversation: 'data.body.payload.uid',
    },
    exampleEvent: 'BOOKING_CREATED',
    marks: ['no id'],
    docs: 'https://cal.com/docs/developing/guides/automation/webhooks',
  },
  {
    id: 'calendly',
    name: 'Calendly',
    verify: {
      scheme: 'calendly',
    },
    secret: 'you choose it: `signing_key` of the subscription',
    exampleEvent: 'invitee.created',
    marks: ['id is a hash'],
    docs: 'https://developer.calendly.com/api-docs/overview/webhooks/webhook-signatures',
  },
  {
    id: 'constant-contact',
    exampleEvent: 'tier.increase',
    name: 'Constant Contact',
    verify: {
      scheme: 'jwt',
      header: 'X-CTCT-WEBHOOK-SIG',
      detached: true,
      jwks: 'https://developer.constantcontact.com/.well-known/jwks.json',
    },
    options: {
      event: 'data.body.event_type',
    },
    marks: ['no id'],
    docs: 'https://developer.constantcontact.com/api_guide/webhook_authenticity.html',
  },
  {
    id: 'front-application',
    name: 'Front (application)',
    also: ['front'],
    verify: {
      scheme: 'front',
    },
    secret: 'signing key of the application',
    exampleEvent: 'inbound_received',
    notes: ['answers `X-Front-Challenge`'],
    docs: 'https://dev.frontapp.com/docs/application-webhooks',
  },
  {
    id: 'front-rule',
    name: 'Front (rule)',
    verify: {
      scheme: 'hmac',
      header: 'X-Front-Signature',
      encoding: 'base64',
      algorithm: 'sha1',
    },
    secret: 'API secret of the company',
    options: {
      key: 'data.body.id',
      conversation: 'data.body.conversation.id',
    },
    exampleEvent: 'assign',
    docs: 'https://dev.frontapp.com/docs/rule-webhooks',
  },
  {
    id: 'help-scout',
    name: 'Help Scout',
    verify: {
      scheme: 'hmac',
      header: 'X-HelpScout-Signature',
      encoding: 'base64',
      algorithm: 'sha1',
    },
    secret: 'you choose it: *Secret Key*',
    options: {
      event: 'header.x-helpscout-event',
      conversation: 'data.body.id',
    },
    exampleEvent: 'convo.created',
    marks: ['no id'],
    docs: 'https://developer.helpscout.com/webhooks',
  },
  {
    id: 'hubspot',
    name: 'HubSpot',
    isCompared: true,
    verify: {
      scheme: 'hubspot',
    },
    secret: 'client secret of the app',
    exampleEvent: 'contact.creation',
    marks: ['signs the address', 'split'],
    note: 'hubspot',
    docs: 'https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation',
  },
  {
    id: 'intercom',
    name: 'Intercom',
    verify: {
      scheme: 'intercom',
    },
    secret: 'client secret of the app',
    exampleEvent: 'user.created',
    docs: 'https://developers.intercom.com/docs/webhooks/setting-up-webhooks',
  },
  {
    id: 'linkedin',
    name: 'LinkedIn',
    verify: {
      scheme: 'hmac',
      header: 'X-LI-Signature',
      template: 'hmacsha256={body}',
    },
    secret: 'client secret of the app',
    options: {
      challenge: {
        at: 'query.challengeCode',
        answer: {
          challengeCode: '{value}',
          challengeResponse: '{hmac-hex}',
        },
      },
    },
    marks: ['no id'],
    docs: 'https://learn.microsoft.com/linkedin/shared/api-guide/webhook-validation',
  },
  {
    id: 'mailgun',
    name: 'Mailgun',
    verify: {
      scheme: 'mailgun',
    },
    secret: '*HTTP webhook signing key* of the account',
    exampleEvent: 'opened',
    marks: ['sender not verified'],
    notes: ['for a mailbox use [email](email-providers.md)'],
    note: 'mailgun',
    docs: 'https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks',
  },
  {
    id: 'mandrill',
    name: 'Mandrill',
    also: ['mailchimp'],
    verify: {
      scheme: 'hmac',
      header: 'X-Mandrill-Signature',
      algorithm: 'sha1',
      encoding: 'base64',
      template: '{url}mandrill_events{body.mandrill_events}',
    },
    secret: '*Key* of the webhook',
    options: {
      body: 'form.mandrill_events',
      split: 'data.body',
      key: '#',
      from: 'msg.email',
      conversation: '_id',
    },
    exampleEvent: 'send',
    marks: ['id is a hash', 'signs the address'],
    note: 'mandrill',
    docs: 'https://mailchimp.com/developer/transactional/guides/track-respond-activity-webhooks',
  },
  {
    id: 'nylas',
    name: 'Nylas',
    verify: {
      scheme: 'hmac',
      header: 'X-Nylas-Signature',
    },
    secret: '`webhook_secret`, in the response that creates the webhook',
    options: {
      challenge: {
        at: 'query.challenge',
      },
      key: 'data.body.id',
      answer: {
        status: 200,
      },
      conversation: 'data.body.data.object.id',
    },
    exampleEvent: 'message.created',
    docs: 'https://developer.nylas.com/docs/v3/notifications',
  },
  {
    id: 'onfleet',
    name: 'Onfleet',
    verify: {
      scheme: 'hmac',
      header: 'X-Onfleet-Signature',
      algorithm: 'sha512',
      'secret-encoding': 'hex',
    },
    secret: 'webhook secret on the dashboard',
    options: {
      challenge: {
        at: 'query.check',
      },
      event: 'data.body.triggerName',
      conversation: 'data.body.taskId',
    },
    exampleEvent: 'taskCompleted',
    marks: ['no id'],
    docs: 'https://docs.onfleet.com/reference/secrets',
  },
  {
    id: 'postmark',
    name: 'Postmark',
    verify: {
      scheme: 'basic',
      user: 'postmark',
    },
    secret: 'you choose it, in the address: `https://postmark:SECRET@HOST/PATH`',
    options: {
      answer: {
        status: 200,
      },
      event: 'data.body.RecordType',
      conversation: 'data.body.MessageID',
    },
    exampleEvent: 'Delivery',
    marks: ['no id'],
    notes: ['for a mailbox use [email](email-providers.md)'],
    docs: 'https://postmarkapp.com/developer/webhooks/webhooks-overview',
  },
  {
    id: 'salesforce',
    name: 'Salesforce (outbound messages)',
    verify: {
      scheme: 'query',
      name: 'code',
    },
    secret: 'you choose it: `?code=SECRET`',
    options: {
      answer: {
        headers: {
          'Content-Type': 'text/xml',
        },
        body: '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body> <notificationsResponse xmlns="http://soap.sforce.com/2005/09/outbound"><Ack>true</Ack></notificationsResponse> </soapenv:Body></soapenv:Envelope>',
      },
    },
    marks: ['no id'],
    note: 'salesforce',
    docs: 'https://developer.salesforce.com/docs/atlas.en-us.api.meta/api/sforce_api_om_outboundmessaging.htm',
  },
  {
    id: 'sendgrid',
    name: 'SendGrid (events)',
    isCompared: true,
    verify: {
      scheme: 'sendgrid',
    },
    secret: '*Verification Key* of the Event Webhook',
    exampleEvent: 'open',
    marks: ['split'],
    notes: ['for a mailbox use [email](email-providers.md)'],
    docs: 'https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features',
  },
  {
    id: 'sparkpost',
    name: 'SparkPost',
    verify: {
      scheme: 'basic',
      user: 'sparkpost',
    },
    secret: 'you choose it: *Basic Auth*, password',
    options: {
      split: 'data.body',
      key: 'msys.*.event_id',
      event: 'msys.*.type',
      conversation: 'msys.*.message_id',
    },
    exampleEvent: 'bounce',
    docs: 'https://developers.sparkpost.com/api/webhooks',
  },
  {
    id: 'zendesk',
    name: 'Zendesk',
    verify: {
      scheme: 'zendesk',
    },
    secret: '*Signing secret* of the webhook',
    exampleEvent: 'zen:event-type:ticket.created',
    docs: 'https://developer.zendesk.com/documentation/webhooks/verifying',
  },
]
