-- deals.lua TOKEN: creates deals.
local common = require("common")
local authorization

function init(args)
    common.begin()
    authorization = "Authorization: Bearer " .. args[1] .. "\r\n"
end

function request()
    return common.post("/api/deals", '{"title": "A deal of the benchmark", "amount_cents": 123456}', authorization)
end
