// Creates a replica set of one member and Webloom's user, unless they exist. A changed password in
// deploy/secrets/mongodb_webloom_password takes effect at the next run.
const fs = require("fs");
const secret = (name) => fs.readFileSync(`/run/secrets/${name}`, "utf8").trim();
const member = "mongodb:27017";
const seconds = 120; // for a first start on a slow disk

const until = (what, attempt) => {
  for (let left = seconds; ; left--) {
    try {
      const found = attempt();
      if (found) return found;
    } catch (error) {
      if (left <= 0) throw error;
    }
    if (left <= 0) throw new Error(`${member}: waited ${seconds} s for it to ${what}`);
    sleep(1000);
  }
};

const address = `mongodb://root:${secret("mongodb_root_password")}@${member}/admin?directConnection=true&serverSelectionTimeoutMS=2000`;
const admin = until("answer", () => connect(address));

try {
  admin.runCommand({ replSetGetStatus: 1 });
} catch (error) {
  if (error.codeName !== "NotYetInitialized") throw error;
  admin.runCommand({ replSetInitiate: { _id: "rs0", members: [{ _id: 0, host: member }] } });
}
until("become primary", () => admin.runCommand({ hello: 1 }).isWritablePrimary);

const webloom = admin.getSiblingDB("webloom");
const account = {
  pwd: secret("mongodb_webloom_password"),
  roles: [{ role: "readWrite", db: "webloom" }],
};
if (webloom.getUser("webloom") === null) {
  webloom.createUser({ user: "webloom", ...account });
} else {
  webloom.updateUser("webloom", account);
}
print("the replica set rs0 and the user webloom exist");
