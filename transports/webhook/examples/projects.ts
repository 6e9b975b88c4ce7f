import type { ProviderExample } from './example.ts'

/** Code, projects and deployments. */
export const PROJECTS: readonly ProviderExample[] = [
  {
    id: 'airtable',
    name: 'Airtable',
    verify: {
      scheme: 'hmac',
      header: 'X-Airtable-Content-MAC',
      prefix: 'hmac-sha256=',
      'secret-encoding': 'base64',
    },
    secret: '`macSecretBase64`, in the response that creates the webhook',
    options: {
      answer: {
        status: 204,
      },
      conversation: 'data.body.webhook.id',
    },
    marks: ['no id'],
    docs: 'https://airtable.com/developers/web/api/webhooks-overview',
  },
  {
    id: 'asana',
    name: 'Asana',
    exampleEvent: 'changed',
    verify: {
      scheme: 'hmac',
      header: 'X-Hook-Signature',
    },
    secret: '`X-Hook-Secret`, in the response that creates the webhook',
    options: {
      challenge: {
        at: 'header.X-Hook-Secret',
        header: 'X-Hook-Secret',
        answer: '',
      },
      split: 'data.body.events',
      answer: {
        status: 200,
      },
      event: 'action',
      from: 'user.gid',
      conversation: 'resource.gid',
    },
    marks: ['no id'],
    note: 'asana',
    readFirst: true,
    docs: 'https://developers.asana.com/docs/webhooks-guide',
  },
  {
    id: 'bitbucket',
    name: 'Bitbucket',
    verify: {
      scheme: 'bitbucket',
    },
    secret: 'you choose it: *Secret*',
    exampleEvent: 'repo:push',
    docs: 'https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks',
  },
  {
    id: 'clickup',
    name: 'ClickUp',
    verify: {
      scheme: 'hmac',
      header: 'X-Signature',
    },
    secret: '`secret`, in the response that creates the webhook',
    options: {
      key: ['data.body.webhook_id', 'data.body.event', 'data.body.history_items.+.id'],
      from: 'data.body.history_items.*.user.id',
      conversation: 'data.body.task_id',
    },
    exampleEvent: 'taskCreated',
    docs: 'https://developer.clickup.com/docs/webhooksignature',
  },
  {
    id: 'gitea',
    name: 'Gitea, Forgejo',
    also: ['forgejo'],
    isCompared: true,
    verify: {
      scheme: 'github',
    },
    secret: 'you choose it: *Settings*, *Webhooks*, *Secret*',
    exampleEvent: 'push',
    docs: 'https://docs.gitea.com/usage/repository/webhooks',
  },
  {
    id: 'github',
    name: 'GitHub',
    isCompared: true,
    verify: {
      scheme: 'github',
    },
    secret: 'you choose it: *Settings*, *Webhooks*, *Secret*',
    variable: 'GITHUB_WEBHOOK_SECRET',
    exampleEvent: 'push',
    notes: [
      'a project of `trivium init` [has this gateway already](#verify-a-webhook): only set the variable',
    ],
    docs: 'https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries',
  },
  {
    id: 'gitlab',
    name: 'GitLab',
    verify: {
      scheme: 'gitlab',
    },
    secret: 'you choose it: *Secret token*',
    exampleEvent: 'Push Hook',
    note: 'gitlab',
    docs: 'https://docs.gitlab.com/user/project/integrations/webhooks',
  },
  {
    id: 'jira',
    name: 'Jira',
    verify: {
      scheme: 'hmac',
      header: 'X-Hub-Signature',
      prefix: 'sha256=',
    },
    secret: 'you choose it: *Secret*',
    options: {
      key: 'header.x-atlassian-webhook-identifier',
      event: 'data.body.webhookEvent',
      from: 'data.body.user.accountId',
      conversation: 'data.body.issue.key',
    },
    exampleEvent: 'jira:issue_created',
    docs: 'https://developer.atlassian.com/cloud/jira/platform/webhooks',
  },
  {
    id: 'launchdarkly',
    name: 'LaunchDarkly',
    verify: {
      scheme: 'hmac',
      header: 'X-LD-Signature',
    },
    secret: 'secret of the webhook',
    options: {
      key: 'data.body._id',
      event: 'data.body.kind',
    },
    exampleEvent: 'flag',
    docs: 'https://launchdarkly.com/docs/home/infrastructure/webhooks',
  },
  {
    id: 'linear',
    name: 'Linear',
    isCompared: true,
    verify: {
      scheme: 'linear',
    },
    secret: '*Signing secret* of the webhook',
    exampleEvent: 'Issue',
    docs: 'https://linear.app/developers/webhooks',
  },
  {
    id: 'manus',
    name: 'Manus',
    verify: {
      scheme: 'public-key',
      header: 'X-Webhook-Signature',
      'timestamp-header': 'X-Webhook-Timestamp',
      template: '{timestamp}.{url}.{body-sha256}',
    },
    secret: 'public key of Manus',
    options: {
      key: 'data.body.event_id',
      answer: {
        status: 200,
      },
      event: 'data.body.event_type',
      conversation: 'data.body.task_detail.task_id',
    },
    exampleEvent: 'task_created',
    marks: ['signs the address'],
    docs: 'https://open.manus.ai/docs/v2/webhooks-security',
  },
  {
    id: 'monday',
    name: 'monday.com',
    verify: {
      scheme: 'jwt',
      audience: 'https://HOST/PATH',
    },
    secret: '*Signing secret* of the app',
    options: {
      challenge: {
        at: 'data.body.challenge',
        answer: {
          challenge: '{value}',
        },
      },
      answer: {
        status: 200,
      },
      event: 'data.body.event.type',
      from: 'data.body.event.userId',
      conversation: 'data.body.event.pulseId',
    },
    exampleEvent: 'create_pulse',
    marks: ['no id', 'sender not verified'],
    note: 'mondaycom',
    docs: 'https://developer.monday.com/apps/docs/authorization-header',
  },
  {
    id: 'netlify',
    name: 'Netlify',
    verify: {
      scheme: 'jwt',
      header: 'X-Webhook-Signature',
      issuer: 'netlify',
      'body-hash': 'sha256',
    },
    secret: 'you choose it: *JWS secret token*',
    options: {
      event: 'header.x-netlify-event',
      conversation: 'data.body.id',
    },
    exampleEvent: 'deploy_created',
    marks: ['no id'],
    docs: 'https://docs.netlify.com/site-deploys/notifications',
  },
  {
    id: 'notion',
    name: 'Notion',
    verify: {
      scheme: 'hmac',
      header: 'X-Notion-Signature',
      prefix: 'sha256=',
    },
    secret: '`verification_token`',
    options: {
      key: 'data.body.id',
      from: 'data.body.authors.0.id',
      conversation: 'data.body.entity.id',
    },
    exampleEvent: 'page.created',
    note: 'notion',
    readFirst: true,
    docs: 'https://developers.notion.com/reference/webhooks',
  },
  {
    id: 'openai',
    name: 'OpenAI, Resend, Svix',
    also: ['resend', 'svix'],
    eventOf: { resend: 'email.delivered', svix: 'user.created' },
    isCompared: true,
    verify: {
      scheme: 'standard-webhooks',
    },
    secret: '*Signing secret* of the endpoint (`whsec_…`)',
    exampleEvent: 'response.completed',
    docs: {
      OpenAI: 'https://platform.openai.com/docs/guides/webhooks',
      Resend: 'https://resend.com/docs/dashboard/webhooks/introduction',
      Svix: 'https://docs.svix.com/receiving/introduction',
    },
  },
  {
    id: 'sentry',
    name: 'Sentry',
    verify: {
      scheme: 'sentry',
    },
    secret: '*Client Secret* of the integration',
    exampleEvent: 'issue',
    marks: ['no id'],
    docs: 'https://docs.sentry.io/organization/integrations/integration-platform/webhooks',
  },
  {
    id: 'smartsheet',
    name: 'Smartsheet',
    exampleEvent: 'updated',
    verify: {
      scheme: 'hmac',
      header: 'Smartsheet-Hmac-SHA256',
    },
    secret: '`sharedSecret` of the webhook',
    options: {
      challenge: {
        at: 'header.Smartsheet-Hook-Challenge',
        answer: {
          smartsheetHookResponse: '{value}',
        },
      },
      split: 'data.body.events',
      answer: {
        status: 200,
      },
      event: 'eventType',
      from: 'userId',
      conversation: 'data.envelope.scopeObjectId',
    },
    marks: ['no id'],
    docs: 'https://developers.smartsheet.com/api/smartsheet/guides/webhooks/webhook-callbacks',
  },
  {
    id: 'trello',
    name: 'Trello',
    verify: {
      scheme: 'trello',
    },
    secret: '*Secret* of the Power-Up, not its API key',
    options: {
      answer: {
        status: 200,
      },
    },
    exampleEvent: 'createCard',
    marks: ['signs the address'],
    notes: ['answers `HEAD`'],
    docs: 'https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks',
  },
  {
    id: 'vercel',
    name: 'Vercel',
    verify: {
      scheme: 'hmac',
      header: 'X-Vercel-Signature',
      algorithm: 'sha1',
    },
    secret: 'secret of the webhook, shown once',
    options: {
      key: 'data.body.id',
    },
    exampleEvent: 'deployment.created',
    docs: 'https://vercel.com/docs/webhooks/webhooks-api',
  },
]
