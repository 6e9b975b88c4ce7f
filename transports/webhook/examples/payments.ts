import type { ProviderExample } from './example.ts'

/** The first item of a delivery, the only one that is signed. */
const ADYEN_ITEM = 'notificationItems.0.NotificationRequestItem'
const ADYEN_FIELDS = [
  'pspReference',
  'originalReference?',
  'merchantAccountCode',
  'merchantReference?',
  'amount.value',
  'amount.currency',
  'eventCode',
  'success',
]

/** Payments, shops and accounting. */
export const PAYMENTS: readonly ProviderExample[] = [
  {
    id: 'adyen',
    name: 'Adyen',
    isCompared: true,
    verify: {
      scheme: 'hmac',
      'secret-encoding': 'hex',
      field: `${ADYEN_ITEM}.additionalData.hmacSignature`,
      encoding: 'base64',
      template: ADYEN_FIELDS.map((field) => `{body.${ADYEN_ITEM}.${field}}`).join(':'),
    },
    secret: '*HMAC key* of the webhook',
    variable: 'ADYEN_HMAC_KEY',
    options: {
      key: '#',
      event: `data.body.${ADYEN_ITEM}.eventCode`,
      conversation: `data.body.${ADYEN_ITEM}.merchantReference`,
    },
    exampleEvent: 'AUTHORISATION',
    marks: ['id is a hash', 'sender not verified'],
    note: 'adyen',
    docs: 'https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures',
  },
  {
    id: 'circle',
    name: 'Circle (USDC)',
    also: ['usdc'],
    verify: {
      scheme: 'public-key',
      header: 'X-Circle-Signature',
    },
    secret: 'public key of the subscription',
    options: {
      key: 'data.body.notificationId',
      event: 'data.body.notificationType',
      conversation: 'data.body.notification.id',
    },
    exampleEvent: 'transfers',
    docs: 'https://developers.circle.com/api-reference/verify-webhook-signatures',
  },
  {
    id: 'lemon-squeezy',
    name: 'Lemon Squeezy',
    verify: {
      scheme: 'hmac',
      header: 'X-Signature',
    },
    secret: 'you choose it: *Signing secret*',
    options: {
      key: '#',
      answer: {
        status: 200,
      },
      event: 'data.body.meta.event_name',
      conversation: 'data.body.data.id',
    },
    exampleEvent: 'order_created',
    marks: ['id is a hash'],
    docs: 'https://docs.lemonsqueezy.com/help/webhooks/signing-requests',
  },
  {
    id: 'midtrans',
    name: 'Midtrans',
    verify: {
      scheme: 'hash',
      field: 'signature_key',
      algorithm: 'sha512',
      template: '{body.order_id}{body.status_code}{body.gross_amount}{secret}',
    },
    secret: '*Server Key*',
    options: {
      key: '#',
      event: 'data.body.transaction_status',
      conversation: 'data.body.order_id',
    },
    exampleEvent: 'settlement',
    marks: ['id is a hash', 'sender not verified'],
    note: 'midtrans-and-wompi',
    docs: 'https://docs.midtrans.com/docs/https-notification-webhooks',
  },
  {
    id: 'paddle',
    name: 'Paddle',
    isCompared: true,
    verify: {
      scheme: 'paddle',
    },
    secret: '*Secret key* of the destination (`pdl_ntfset_…`)',
    exampleEvent: 'transaction.completed',
    docs: 'https://developer.paddle.com/webhooks/signature-verification',
  },
  {
    id: 'paypal',
    name: 'PayPal',
    verify: {
      scheme: 'paypal',
      'webhook-id': 'WEBHOOK',
    },
    exampleEvent: 'PAYMENT.CAPTURE.COMPLETED',
    marks: ['sender not verified'],
    note: 'paypal',
    docs: 'https://developer.paypal.com/api/rest/webhooks/rest',
  },
  {
    id: 'paystack',
    name: 'Paystack',
    verify: {
      scheme: 'hmac',
      header: 'X-Paystack-Signature',
      algorithm: 'sha512',
    },
    secret: '*Secret Key* of the account',
    options: {
      key: '#',
      answer: {
        status: 200,
      },
      conversation: 'data.body.data.reference',
    },
    exampleEvent: 'charge.success',
    marks: ['id is a hash'],
    docs: 'https://paystack.com/docs/payments/webhooks',
  },
  {
    id: 'plaid',
    name: 'Plaid',
    verify: {
      scheme: 'plaid',
      'client-id': 'CLIENT',
    },
    secret: 'secret of the account',
    options: {
      event: 'data.body.webhook_code',
      conversation: 'data.body.item_id',
    },
    exampleEvent: 'SYNC_UPDATES_AVAILABLE',
    marks: ['no id'],
    notes: ['two updates of an item can have equal bodies, so a hash would lose one'],
    note: 'plaid',
    docs: 'https://plaid.com/docs/api/webhooks/webhook-verification',
  },
  {
    id: 'quickbooks',
    name: 'QuickBooks',
    verify: {
      scheme: 'hmac',
      header: 'Intuit-Signature',
      encoding: 'base64',
    },
    secret: '*Verifier Token* of the app',
    options: {
      split: 'data.body',
      key: 'id',
      answer: {
        status: 200,
      },
      conversation: 'intuitaccountid',
    },
    exampleEvent: 'qbo.invoice.created.v1',
    note: 'quickbooks',
    docs: 'https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks',
  },
  {
    id: 'razorpay',
    name: 'Razorpay',
    isCompared: true,
    verify: {
      scheme: 'hmac',
      header: 'X-Razorpay-Signature',
    },
    secret: 'you choose it: *Secret*',
    options: {
      key: 'header.x-razorpay-event-id',
      conversation: 'data.body.payload.payment.entity.id',
    },
    exampleEvent: 'payment.captured',
    docs: 'https://razorpay.com/docs/webhooks/validate-test',
  },
  {
    id: 'recurly',
    name: 'Recurly',
    verify: {
      scheme: 'hmac',
      header: 'Recurly-Signature',
      'timestamp-prefix': '',
      template: '{timestamp}.{body}',
    },
    secret: 'secret key of the endpoint',
    options: {
      key: '#',
      event: 'data.body.event_type',
      conversation: 'data.body.id',
    },
    exampleEvent: 'created',
    marks: ['id is a hash'],
    docs: 'https://docs.recurly.com/recurly-subscriptions/docs/signature-verification',
  },
  {
    id: 'saleor',
    name: 'Saleor',
    verify: {
      scheme: 'jwt',
      header: 'Saleor-Signature',
      detached: true,
      jwks: 'https://SHOP/.well-known/jwks.json',
    },
    options: {
      event: 'header.saleor-event',
    },
    exampleEvent: 'order_created',
    marks: ['no id'],
    docs: 'https://docs.saleor.io/developer/extending/webhooks/payload-signature',
  },
  {
    id: 'shopify',
    name: 'Shopify',
    isCompared: true,
    verify: {
      scheme: 'shopify',
    },
    secret: '*Settings*, *Notifications*, *Webhooks*, below the list; for an app its client secret',
    exampleEvent: 'orders/create',
    marks: ['sender not verified'],
    docs: 'https://shopify.dev/docs/apps/build/webhooks/subscribe/https',
  },
  {
    id: 'square',
    name: 'Square',
    isCompared: true,
    verify: {
      scheme: 'square',
    },
    secret: '*Signature key* of the subscription',
    exampleEvent: 'payment.created',
    marks: ['signs the address'],
    docs: 'https://developer.squareup.com/docs/webhooks/step3validate',
  },
  {
    id: 'starling',
    name: 'Starling (version 1)',
    verify: {
      scheme: 'hash',
      header: 'X-Hook-Signature',
      algorithm: 'sha512',
      encoding: 'base64',
      template: '{secret}{body}',
    },
    secret: 'shared secret of the webhook',
    options: {
      key: 'data.body.webhookNotificationUid',
      event: 'data.body.webhookType',
    },
    exampleEvent: 'TRANSACTION_CARD',
    note: 'starling',
  },
  {
    id: 'stripe',
    name: 'Stripe',
    isCompared: true,
    verify: {
      scheme: 'stripe',
    },
    secret: '*Developers*, *Webhooks*, the endpoint, *Signing secret* (`whsec_…`)',
    exampleEvent: 'charge.succeeded',
    docs: 'https://docs.stripe.com/webhooks',
  },
  {
    id: 'wompi',
    name: 'Wompi',
    verify: {
      scheme: 'hash',
      field: 'signature.checksum',
      template:
        '{body.data.transaction.id}{body.data.transaction.status}{body.data.transaction.amount_in_cents}{body.timestamp}{secret}',
    },
    secret: '*Events secret*',
    options: {
      key: 'data.body.signature.checksum',
      answer: {
        status: 200,
      },
      conversation: 'data.body.data.transaction.id',
    },
    exampleEvent: 'transaction.updated',
    marks: ['sender not verified'],
    note: 'midtrans-and-wompi',
    docs: 'https://docs.wompi.co/docs/colombia/eventos',
  },
  {
    id: 'woocommerce',
    name: 'WooCommerce',
    verify: {
      scheme: 'hmac',
      header: 'X-WC-Webhook-Signature',
      encoding: 'base64',
    },
    secret: '*Secret* of the webhook',
    options: {
      challenge: {
        at: 'data.body.webhook_id',
        answer: 'ok',
      },
      event: 'header.x-wc-webhook-topic',
      conversation: 'data.body.id',
    },
    exampleEvent: 'order.created',
    marks: ['no id'],
    docs: 'https://woocommerce.com/document/webhooks',
  },
  {
    id: 'xero',
    name: 'Xero',
    verify: {
      scheme: 'hmac',
      header: 'X-Xero-Signature',
      encoding: 'base64',
    },
    secret: '*Webhooks key* of the app',
    options: {
      split: 'data.body.events',
      answer: {
        status: 200,
      },
      event: 'eventType',
      conversation: 'resourceId',
    },
    exampleEvent: 'UPDATE',
    marks: ['no id'],
    docs: 'https://developer.xero.com/documentation/guides/webhooks/overview',
  },
]
