// Drives @azure/service-bus against the local Service Bus:
// node servicebus.mjs <connection string> <connection string of the administration port>.
// Each check prints one line of JSON: {"name", "error"}.

import assert from "node:assert/strict";
import { ServiceBusAdministrationClient, ServiceBusClient } from "@azure/service-bus";

const client = new ServiceBusClient(process.argv[2], { retryOptions: { maxRetries: 0, timeoutInMs: 20000 } });
const administration = new ServiceBusAdministrationClient(process.argv[3]);
const queue = "js-work";
const sender = client.createSender(queue);
const receiver = client.createReceiver(queue);
const deadLetters = client.createReceiver(queue, { subQueueType: "deadLetter" });
const texts = (messages) => messages.map((message) => message.body);

async function all(iterable) {
  const items = [];
  for await (const item of iterable) items.push(item);
  return items;
}

async function take(from, count) {
  const found = [];
  while (found.length < count) {
    const batch = await from.receiveMessages(count - found.length, { maxWaitTimeInMs: 20000 });
    assert.ok(batch.length, `only ${found.length} of ${count} messages came`);
    found.push(...batch);
  }
  return found;
}

const checks = {
  async "round trip"() {
    await sender.sendMessages({
      body: { deep: [1, "two"] },
      messageId: "js-1",
      subject: "subject",
      correlationId: "c",
      contentType: "application/json",
      replyTo: "r",
      to: "t",
      applicationProperties: { n: 1.5, s: "x", b: true },
    });
    const [message] = await take(receiver, 1);
    assert.deepEqual(message.body, { deep: [1, "two"] });
    assert.equal(message.messageId, "js-1");
    assert.equal(message.subject, "subject");
    assert.equal(message.correlationId, "c");
    assert.deepEqual({ ...message.applicationProperties }, { n: 1.5, s: "x", b: true });
    assert.equal(message.deliveryCount, 0);
    assert.equal(message.state, "active");
    assert.ok(message.sequenceNumber.toNumber() > 0);
    assert.ok(message.lockedUntilUtc > new Date());
    await receiver.completeMessage(message);
  },
  async "a message without an id gets one"() {
    await sender.sendMessages({ body: "anonymous" });
    const [message] = await take(receiver, 1);
    assert.ok(message.messageId);
    await receiver.completeMessage(message);
  },
  async "batches"() {
    const batch = await sender.createMessageBatch();
    for (let number = 0; number < 20; number++) assert.ok(batch.tryAddMessage({ body: number }));
    assert.equal(batch.maxSizeInBytes, 262144);
    await sender.sendMessages(batch);
    const messages = await take(receiver, 20);
    assert.deepEqual(texts(messages), [...Array(20).keys()]);
    await Promise.all(messages.map((message) => receiver.completeMessage(message)));
  },
  async "abandon with properties to modify"() {
    await sender.sendMessages({ body: "again", applicationProperties: { old: 1 } });
    let [message] = await take(receiver, 1);
    await receiver.abandonMessage(message, { added: "yes" });
    [message] = await take(receiver, 1);
    assert.equal(message.deliveryCount, 1);
    assert.deepEqual({ ...message.applicationProperties }, { old: 1, added: "yes" });
    await receiver.completeMessage(message);
  },
  async "dead-letter with reason, description and properties"() {
    await sender.sendMessages({ body: "bad" });
    const [message] = await take(receiver, 1);
    await receiver.deadLetterMessage(message, {
      deadLetterReason: "why",
      deadLetterErrorDescription: "because",
      added: "yes",
    });
    const [dead] = await take(deadLetters, 1);
    assert.equal(dead.deadLetterReason, "why");
    assert.equal(dead.deadLetterErrorDescription, "because");
    assert.equal(dead.applicationProperties.added, "yes");
    await deadLetters.completeMessage(dead);
  },
  async "defer and receive deferred"() {
    await sender.sendMessages({ body: "later" });
    const [message] = await take(receiver, 1);
    await receiver.deferMessage(message, { note: "n" });
    const [peeked] = await receiver.peekMessages(1, { fromSequenceNumber: message.sequenceNumber });
    assert.equal(peeked.state, "deferred");
    const [deferred] = await receiver.receiveDeferredMessages([message.sequenceNumber]);
    assert.equal(deferred.body, "later");
    assert.equal(deferred.applicationProperties.note, "n");
    await receiver.completeMessage(deferred);
    await assert.rejects(receiver.receiveDeferredMessages([message.sequenceNumber]), /message-not-found|does not exist/i);
  },
  async "schedule, peek and cancel"() {
    const due = new Date(Date.now() + 3600000);
    const [first, second] = await sender.scheduleMessages([{ body: "s1" }, { body: "s2" }], due);
    const peeked = await receiver.peekMessages(5, { fromSequenceNumber: first });
    assert.deepEqual(texts(peeked), ["s1", "s2"]);
    assert.equal(peeked[0].state, "scheduled");
    assert.equal(peeked[0].scheduledEnqueueTimeUtc.getTime(), due.getTime());
    await sender.cancelScheduledMessages([first, second]);
    await assert.rejects(sender.cancelScheduledMessages(first));
    assert.deepEqual(await receiver.peekMessages(5, { fromSequenceNumber: first }), []);
  },
  async "a scheduled message comes when it is due"() {
    const due = new Date(Date.now() + 2000);
    await sender.scheduleMessages({ body: "timed" }, due);
    const [message] = await take(receiver, 1);
    assert.ok(new Date() >= due);
    await receiver.completeMessage(message);
  },
  async "renew a lock"() {
    await sender.sendMessages({ body: "long" });
    const [message] = await take(receiver, 1);
    const before = message.lockedUntilUtc;
    await new Promise((resolve) => setTimeout(resolve, 20));
    const until = await receiver.renewMessageLock(message);
    assert.ok(until > before);
    await receiver.completeMessage(message);
  },
  async "an expired lock is lost"() {
    const brief = client.createReceiver("js-brief-locks", { maxAutoLockRenewalDurationInMs: 0 });
    const to = client.createSender("js-brief-locks");
    await to.sendMessages({ body: "slow" });
    const [first] = await take(brief, 1);
    const [again] = await take(brief, 1);
    assert.ok(again.deliveryCount >= 1);
    await assert.rejects(brief.completeMessage(first), { code: "MessageLockLost" });
    for (let last = again, isCompleted = false; !isCompleted; ) {
      isCompleted = await brief.completeMessage(last).then(() => true, () => false);
      if (!isCompleted) [last] = await take(brief, 1);
    }
    await brief.close();
    await to.close();
  },
  async "receive and delete"() {
    const deleting = client.createReceiver(queue, { receiveMode: "receiveAndDelete" });
    await sender.sendMessages([{ body: "x" }, { body: "y" }]);
    assert.deepEqual(texts(await take(deleting, 2)), ["x", "y"]);
    assert.deepEqual(await receiver.peekMessages(1, { fromSequenceNumber: (await import("long")).default.ONE }), []);
    await deleting.close();
  },
  async "subscribe"() {
    const streaming = client.createReceiver(queue);
    const seen = [];
    const received = new Promise((resolve, reject) => {
      streaming.subscribe(
        {
          async processMessage(message) {
            seen.push(message.body);
            if (seen.length === 30) resolve();
          },
          async processError(failure) {
            reject(failure.error);
          },
        },
        { maxConcurrentCalls: 5 },
      );
    });
    await sender.sendMessages([...Array(30).keys()].map((body) => ({ body })));
    await received;
    await streaming.close();
    assert.deepEqual(seen.sort((a, b) => a - b), [...Array(30).keys()]);
  },
  async "topics and subscriptions"() {
    const topic = client.createSender("js-news");
    const subscription = client.createReceiver("js-news", "red");
    await topic.sendMessages([
      { body: "no", applicationProperties: { colour: "blue" } },
      { body: "yes", applicationProperties: { colour: "red" } },
    ]);
    const [message] = await take(subscription, 1);
    assert.equal(message.body, "yes");
    await subscription.completeMessage(message);
    await topic.close();
    await subscription.close();
  },
  async "rules are listed and cannot be changed"() {
    const manager = client.createRuleManager("news", "props");
    const [rule] = await manager.getRules();
    assert.equal(rule.name, "by-property");
    assert.deepEqual(rule.filter.applicationProperties, { colour: "red", urgent: true });
    assert.equal(rule.filter.subject, null);
    await assert.rejects(manager.createRule("more", { subject: "x" }), /Config.json/);
    await assert.rejects(manager.deleteRule("by-property"), /Config.json/);
    for (const [subscription, expected] of [
      ["all", { sqlExpression: "1=1" }],
      ["every", { sqlExpression: "1=1" }],
    ]) {
      const other = client.createRuleManager("news", subscription);
      const filters = (await other.getRules()).map((found) => found.filter);
      assert.deepEqual(filters, [expected]);
    }
    const label = client.createRuleManager("news", "sport");
    assert.equal((await label.getRules())[0].filter.subject, "sport");
  },
  async "administration reads queues"() {
    const mortal = await administration.getQueue("mortal");
    assert.equal(mortal.name, "mortal");
    assert.equal(mortal.lockDuration, "PT1M");
    assert.equal(mortal.maxDeliveryCount, 3);
    assert.equal(mortal.deadLetteringOnMessageExpiration, true);
    assert.equal(mortal.requiresSession, false);
    assert.equal(mortal.enableExpress, false);
    assert.equal(mortal.maxMessageSizeInKilobytes, 256);
    assert.equal(mortal.status, "Active");
    assert.equal(mortal.availabilityStatus, "Available");
    assert.equal((await administration.getQueue("entrance")).forwardTo, "second");
    const names = (await all(administration.listQueues())).map((found) => found.name);
    assert.ok(names.includes("js-work") && names.includes("mortal"));
    const pages = await all(administration.listQueues().byPage({ maxPageSize: 7 }));
    assert.ok(pages.length > 2);
    assert.deepEqual(pages.flat().map((found) => found.name), names);
    assert.ok(await administration.queueExists("MORTAL"));
    assert.equal(await administration.queueExists("nowhere"), false);
  },
  async "administration counts messages"() {
    await sender.sendMessages([{ body: "dead" }, { body: "active" }]);
    await sender.scheduleMessages({ body: "later" }, new Date(Date.now() + 3600000));
    const [message] = await take(receiver, 1);
    await receiver.deadLetterMessage(message);
    const counts = await administration.getQueueRuntimeProperties(queue);
    assert.equal(counts.activeMessageCount, 1);
    assert.equal(counts.deadLetterMessageCount, 1);
    assert.equal(counts.scheduledMessageCount, 1);
    assert.equal(counts.totalMessageCount, 3);
    assert.ok(counts.sizeInBytes > 0);
    assert.ok(counts.createdAt <= new Date());
    const listed = await all(administration.listQueuesRuntimeProperties());
    assert.equal(listed.find((found) => found.name === queue).deadLetterMessageCount, 1);
    for (const from of [receiver, deadLetters]) await from.completeMessage((await take(from, 1))[0]);
    const [scheduled] = await receiver.peekMessages(1, { fromSequenceNumber: message.sequenceNumber });
    await sender.cancelScheduledMessages(scheduled.sequenceNumber);
  },
  async "administration reads topics and subscriptions"() {
    const topic = await administration.getTopic("news");
    assert.equal(topic.name, "news");
    assert.equal(topic.requiresDuplicateDetection, true);
    assert.equal(topic.duplicateDetectionHistoryTimeWindow, "PT1M");
    assert.equal(topic.supportOrdering, true);
    assert.equal((await administration.getTopicRuntimeProperties("news")).subscriptionCount, 6);
    assert.deepEqual((await all(administration.listTopics())).map((found) => found.name), ["news", "js-news"]);
    const runtime = await all(administration.listTopicsRuntimeProperties());
    assert.deepEqual(runtime.map((found) => found.scheduledMessageCount), [0, 0]);
    const subscription = await administration.getSubscription("news", "forwarded");
    assert.equal(subscription.topicName, "news");
    assert.equal(subscription.subscriptionName, "forwarded");
    assert.equal(subscription.forwardTo, "target");
    assert.equal(subscription.deadLetteringOnFilterEvaluationExceptions, false);
    const names = (await all(administration.listSubscriptions("news"))).map((found) => found.subscriptionName);
    assert.deepEqual(names, ["all", "sport", "every", "props", "paged", "forwarded"]);
    const counts = await administration.getSubscriptionRuntimeProperties("news", "all");
    assert.equal(counts.subscriptionName, "all");
    assert.equal(typeof counts.totalMessageCount, "number");
    assert.equal((await all(administration.listSubscriptionsRuntimeProperties("news"))).length, 6);
  },
  async "administration reads rules"() {
    const label = await administration.getRule("news", "sport", "label");
    assert.equal(label.name, "label");
    assert.equal(label.filter.subject, "sport");
    const [every] = await all(administration.listRules("news", "every"));
    assert.equal(every.name, "every");
    const [standard] = await all(administration.listRules("news", "all"));
    assert.equal(standard.name, "$Default");
    assert.equal(standard.filter.sqlExpression, "1=1");
    assert.equal((await administration.getRule("news", "all", "$Default")).name, "$Default");
    const [properties] = await all(administration.listRules("news", "props"));
    assert.deepEqual(properties.filter.applicationProperties, { colour: "red", urgent: true });
    const [numbers] = await all(administration.listRules("js-news", "numbers"));
    assert.deepEqual(numbers.filter.applicationProperties, { count: 5, ratio: 1.5 });
    const pages = await all(administration.listRules("news", "paged").byPage({ maxPageSize: 2 }));
    assert.deepEqual(pages.map((page) => page.map((rule) => rule.name)), [["a", "b"], ["c"]]);
    assert.equal(await administration.ruleExists("news", "all", "nowhere"), false);
  },
  async "administration names the namespace, and refuses changes and strangers"() {
    assert.equal((await administration.getNamespaceProperties()).name, "sbemulatorns");
    await assert.rejects(administration.getQueue("nowhere"), { code: "MessageEntityNotFoundError", statusCode: 404 });
    await assert.rejects(administration.createQueue("new"), /Config.json/);
    await assert.rejects(administration.deleteTopic("news"), /Config.json/);
    const stranger = new ServiceBusAdministrationClient(process.argv[3].replace("SAS_KEY_VALUE", "WRONG"));
    await assert.rejects(stranger.getQueue(queue), { code: "UnauthorizedRequestError", statusCode: 401 });
  },
  async "what is not there is refused"() {
    await assert.rejects(client.createSender("nowhere").sendMessages({ body: 1 }), { code: "MessagingEntityNotFound" });
    await assert.rejects(client.acceptSession(queue, "s"), /session/);
    await assert.rejects(sender.sendMessages({ body: "x".repeat(300000) }), { code: "MessageSizeExceeded" });
  },
  async "a wrong key is refused"() {
    const stranger = new ServiceBusClient(process.argv[2].replace("SAS_KEY_VALUE", "WRONG"), {
      retryOptions: { maxRetries: 0, timeoutInMs: 20000 },
    });
    await assert.rejects(stranger.createSender(queue).sendMessages({ body: 1 }), /signature|Unauthorized|401/i);
    await stranger.close();
  },
};

for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(JSON.stringify({ name, error: null }));
  } catch (error) {
    console.log(JSON.stringify({ name, error: String(error.stack ?? error) }));
  }
}
await client.close();
process.exit(0);
