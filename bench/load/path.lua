-- path.lua PATH [TOKEN]: always the same GET.
local common = require("common")

function init(args)
    common.begin()
    wrk.path = args[1]
    if args[2] then
        wrk.headers["Authorization"] = "Bearer " .. args[2]
    end
end
